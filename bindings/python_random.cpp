#include "bindings/python_random.h"

#include <cstring>

#include "frame_eval/numpy/random.h"

namespace fw::bindings::python_random {
namespace {

using cpython::checked;
using cpython::Ref;

/// MT19937: M. Matsumoto and T. Nishimura, "Mersenne Twister", ACM TOMACS 8 (1998).
struct Twister {
  static constexpr int kWords = 624, kMiddle = 397;
  int index;
  uint32_t words[kWords];

  void turn() {
    for (int i = 0; i < kWords; ++i) {
      const uint32_t y = (words[i] & 0x80000000U) | (words[(i + 1) % kWords] & 0x7fffffffU);
      words[i] = words[(i + kMiddle) % kWords] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfU : 0);
    }
    index = 0;
  }
  uint32_t next() {
    if (index >= kWords) turn();
    uint32_t y = words[index++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    return y ^ (y >> 18);
  }
  double nextDouble() {
    const uint32_t a = next() >> 5, b = next() >> 6;
    return (a * 67108864.0 + b) * (1.0 / 9007199254740992.0);
  }
};

Twister* twisterOf(PyObject* object) { return reinterpret_cast<Twister*>(object + 1); }

/// The struct of the base class ends where that of the twister does.
bool fits(PyObject* object) {
  const PyTypeObject* native = Py_TYPE(object)->tp_base;
  const size_t size = sizeof(PyObject) + sizeof(Twister);
  return native && native->tp_basicsize == static_cast<Py_ssize_t>((size + 7) / 8 * 8);
}

/// What getstate() of the base class says.
bool agrees(PyObject* object) {
  const auto* native = reinterpret_cast<PyObject*>(Py_TYPE(object)->tp_base);
  const Ref told = checked(PyObject_CallMethod(const_cast<PyObject*>(native), "getstate", "O", object));
  const Twister& twister = *twisterOf(object);
  if (!PyTuple_Check(told.get()) || PyTuple_GET_SIZE(told.get()) != Twister::kWords + 1) return false;
  for (int i = 0; i <= Twister::kWords; ++i) {
    const unsigned long word = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(told.get(), i));
    if (word != (i < Twister::kWords ? twister.words[i] : static_cast<unsigned long>(twister.index))) return false;
  }
  return true;
}

template <auto Next>
constexpr auto kDraw = [](void* state) { return (static_cast<Twister*>(state)->*Next)(); };

/// So are all.
bool isAsExpected(PyObject* object) {
  static const bool asExpected = fits(object) && agrees(object);
  return asExpected;
}

}  // namespace

bool is(PyObject* object) {
  const char* name = capture::numpy::generatorClass(object);
  return name && std::strcmp(name, "Random") == 0;
}

std::unique_ptr<bitgen_t> sourceOf(PyObject* object) {
  if (!isAsExpected(object)) return nullptr;
  return std::make_unique<bitgen_t>(
      bitgen_t{twisterOf(object), nullptr, kDraw<&Twister::next>, kDraw<&Twister::nextDouble>, nullptr});
}

int64_t bits(bitgen_t* source, int64_t k) {
  const auto word = [&](int64_t most) {
    return static_cast<uint64_t>(source->next_uint32(source->state) >> (32 - (most < 32 ? most : 32)));
  };
  const uint64_t low = word(k);
  return static_cast<int64_t>(k > 32 ? low | word(k - 32) << 32 : low);
}

Ref state(PyObject* object) {
  if (!isAsExpected(object)) return checked(PyObject_CallMethod(object, "getstate", nullptr));
  return checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(twisterOf(object)), sizeof(Twister)));
}

void setState(PyObject* object, PyObject* state) {
  if (PyBytes_CheckExact(state))
    std::memcpy(twisterOf(object), PyBytes_AS_STRING(state), sizeof(Twister));
  else
    (void)checked(PyObject_CallMethod(object, "setstate", "O", state));
}

}  // namespace fw::bindings::python_random
