"""A size that is a global bool

watch: G; H; A; TABLE; ITEMS; BUFFER; config; Config.__dict__.get('scale'); get
"""
H = 1
A = numbers
TABLE = 'a'
ITEMS = 1
BUFFER = np

def counter(start):
    n = start

    def get(a):
        return a * n

    def put(v):
        pass
    return (get, put)
get = counter

class Config:
    __qualname__ = '<locals>.Config'
config = Config()

def f(x, y, k):
    t1 = np.ones(G) if x.shape[0] % 2 else k
# ---- call
x = numbers(3, 'c16', 1)
y = numbers(3, 'c16', 6)
arguments = (x, y, 3)
try:
    G = True
except Exception: pass
