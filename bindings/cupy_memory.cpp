#include "bindings/cupy_memory.h"

#include <cstring>
#include <utility>

#include "bindings/cuda_device.h"
#include "bindings/cupy_functions.h"
#include "guards/array_library.h"
#include "runtime/memory.h"

namespace fw::bindings {

using cpython::Ref;

Ref allocateMemory(size_t bytes) {
  if (!runtime::mayAllocate()) return PyErr_NoMemory(), Ref();
  const CupyFunctions& f = cupyFunctions();
  const Ref size = Ref::steal(PyLong_FromSize_t(bytes));
  if (!size) return {};
  return Ref::steal(f.alloc ? f.alloc(size.get(), 0) : PyObject_CallOneArg(f.allocate.get(), size.get()));
}

namespace {

/// Small results are cut from larger pieces of CuPy's pool, each for one stream, which is the order in which the pool
/// gives memory out again. A piece goes back to the pool with the last result in it. Only where the default pool is in
/// force: who sets an allocator wants to see every allocation. Guarded by the GIL.
class Slabs {
 public:
  static constexpr intptr_t kLargest = 1024;

  /// Null without an exception: memory comes from elsewhere.
  Ref cut(size_t bytes) {
    const CupyFunctions& f = cupyFunctions();
    if (!f.filled || !f.streamPointer || !f.allocator || !f.alloc || !isDefault()) return {};
    const intptr_t stream = f.streamPointer();
    const int device = currentDevice();
    if (device < 0 || stream == kPerThread || PyErr_Occurred()) return PyErr_Clear(), Ref();
    Slab* slab = &slabs_[0];
    for (Slab& one : slabs_) {
      if (one.whole && one.stream == stream && one.pointer().device == device) {
        slab = &one;
        break;
      }
      if (one.used < slab->used) slab = &one;
    }
    const bool known = slab->whole && slab->stream == stream && slab->pointer().device == device;
    const intptr_t size = (static_cast<intptr_t>(bytes) + kUnit - 1) / kUnit * kUnit;
    if (!known || slab->next + size > kBytes) {
      const Ref wanted = Ref::steal(PyLong_FromSsize_t(kBytes));
      Ref whole = Ref::steal(wanted ? f.alloc(wanted.get(), 0) : nullptr);
      if (!whole) return PyErr_Clear(), Ref();  // a little may be left
      *slab = {std::move(whole), stream, 0, 0};
      if (slab->pointer().device != device) return slab->whole = Ref(), Ref();
    }
    slab->used = ++cuts_;
    const intptr_t address = slab->pointer().address + slab->next;
    slab->next += size;
    return pointIntoMemory(slab->pointer(), address);
  }

 private:
  static constexpr intptr_t kBytes = 64 << 10, kUnit = 512, kPerThread = 2;
  struct Slab {
    Ref whole;
    intptr_t stream = 0, next = 0;
    uint64_t used = 0;
    const CupyPointer& pointer() const { return *reinterpret_cast<const CupyPointer*>(whole.get()); }
  };

  /// Whether CuPy's allocator in force is its default pool's; looked into when it has changed.
  bool isDefault() {
    Ref now = Ref::steal(cupyFunctions().allocator(0));
    if (!now) return PyErr_Clear(), false;
    if (now.get() == allocator_.get()) return default_;
    const Ref cupy = Ref::steal(PyImport_ImportModule("cupy"));
    const Ref pool = Ref::steal(cupy ? PyObject_CallMethod(cupy.get(), "get_default_memory_pool", nullptr) : nullptr);
    const Ref owner = Ref::steal(PyObject_GetAttrString(now.get(), "__self__"));
    PyErr_Clear();
    default_ = pool && owner && pool.get() == owner.get();
    allocator_ = std::move(now);
    return default_;
  }

  Ref allocator_;
  bool default_ = false;
  uint64_t cuts_ = 0;
  Slab slabs_[4];
};

Slabs& slabs() {
  static auto* all = new Slabs;  // for the life of the process
  return *all;
}

}  // namespace

Ref pointIntoMemory(const CupyPointer& whole, intptr_t address) {
  const CupyFunctions& f = cupyFunctions();
  Ref made = Ref::steal(f.makePointer(reinterpret_cast<PyTypeObject*>(f.pointer.get()), f.noArguments.get(), nullptr));
  if (!made) return {};
  auto* pointer = reinterpret_cast<CupyPointer*>(made.get());
  pointer->address = address;
  pointer->device = whole.device;
  Py_SETREF(pointer->memory, Py_NewRef(whole.memory));
  return made;
}

Ref allocateResult(size_t bytes) {
  Ref memory;
  if (bytes > 0 && bytes <= Slabs::kLargest && runtime::mayAllocate()) memory = slabs().cut(bytes);
  return memory ? std::move(memory) : allocateMemory(bytes);
}

void* addressOf(PyObject* pointer) {
  const guards::ArrayFields& fields = guards::findCupy()->fields;
  void* address;
  std::memcpy(&address, reinterpret_cast<char*>(pointer) + fields.dataIn, sizeof address);
  return address;
}

}  // namespace fw::bindings
