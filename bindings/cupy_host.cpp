// Operands of a library call are arrays over memory of the call, which they do not own: the function keeps none of
// them, and what it enqueues reads them in the order of the stream. A result that turns out to be a view of an operand
// is copied.
#include "bindings/cupy_host.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "bindings/array_factory.h"
#include "bindings/buffer_windows.h"
#include "bindings/call_arguments.h"
#include "bindings/cuda_device.h"
#include "bindings/cupy_functions.h"
#include "bindings/cupy_memory.h"
#include "graph/dtype.h"
#include "guards/array_layout.h"
#include "guards/array_library.h"

namespace fw::bindings {

using cpython::checked;
using cpython::PythonError;
using cpython::Ref;
using runtime::CallArray;

namespace {

Ref takeException() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value && trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return Ref::steal(value);
}

int64_t bytesOf(const CallArray& array) {
  int64_t bytes = graph::itemSize(array.dtype);
  for (int axis = 0; axis < array.rank; ++axis) bytes *= array.shape[axis];
  return bytes;
}

/// CuPy's object for memory that it does not own: it stands for all of it that calls work on.
PyObject* memoryOfCalls() {
  static PyObject* const memory = [] {
    static char place[512];
    return checked(PyObject_CallFunction(cupyFunctions().unownedMemory.get(), "KnOi",
                                         reinterpret_cast<unsigned long long>(place), Py_ssize_t{sizeof place}, Py_None,
                                         0))
        .release();
  }();
  return memory;
}

Ref memoryOf(PyObject* array) {
  const Ref pointer = checked(PyObject_GetAttrString(array, "data"));
  return checked(PyObject_GetAttrString(pointer.get(), "mem"));
}

}  // namespace

class CupyHost::Arguments final : public CallArguments {
 public:
  Arguments(const runtime::Calls::Frame& frame, const Surroundings& around)
      : CallArguments(frame, around.objects),
        device_(around.device) {}

 private:
  Ref window(int operand) override {
    const CallArray array = frame.operand(static_cast<size_t>(operand));
    const ArrayShape shape{guards::typeNumber(array.dtype), static_cast<size_t>(graph::itemSize(array.dtype)),
                           array.rank, array.shape, array.strides};
    return checked(cupyWindow(shape, memoryOfCalls(), reinterpret_cast<intptr_t>(array.data), device_));
  }

  const int device_;
};

CupyHost::CupyHost(const Surroundings& around) : around_(around) {
  const CupyFunctions& f = cupyFunctions();
  if (f.streamPointer) {
    stream_ = reinterpret_cast<void*>(f.streamPointer());
    ok_ = !PyErr_Occurred();
    PyErr_Clear();
    return;
  }
  const Ref stream = Ref::steal(PyObject_CallNoArgs(f.currentStream.get()));
  const Ref pointer = Ref::steal(stream ? PyObject_GetAttrString(stream.get(), "ptr") : nullptr);
  stream_ = pointer ? PyLong_AsVoidPtr(pointer.get()) : nullptr;
  ok_ = pointer && !PyErr_Occurred();
  PyErr_Clear();
}

CupyHost::~CupyHost() {
  for (PyObject* pointer : held_) Py_DECREF(pointer);
}

void* CupyHost::allocate(int64_t bytes) {
  Ref pointer = allocateMemory(static_cast<size_t>(bytes));
  if (!pointer) {
    memoryError_ = takeException();
    return nullptr;
  }
  held_.push_back(pointer.release());
  return addressOf(held_.back());
}

void CupyHost::release(void* data) {
  for (size_t i = held_.size(); i-- > 0;) {
    if (addressOf(held_[i]) != data) continue;
    Py_DECREF(held_[i]);
    held_.erase(held_.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

int32_t CupyHost::call(runtime::Context& context, int number) {
  const capture::LibraryCall& site = around_.library.sites[static_cast<size_t>(around_.library.calls.site(number))];
  try {
    runtime::Calls::Frame frame(around_.library.calls, number, context);
    Arguments arguments(frame, around_);
    const Ref answer = arguments.call(site);
    if (!answer) return declined();
    const bool sequence = site.tuple && (PyTuple_Check(answer.get()) || PyList_Check(answer.get()));
    const size_t count = sequence ? static_cast<size_t>(PySequence_Fast_GET_SIZE(answer.get())) : 1;
    if (site.tuple != sequence || count != frame.resultCount()) return differs(site);
    for (size_t i = 0; i < count; ++i) {
      PyObject* item = sequence ? PySequence_Fast_GET_ITEM(answer.get(), static_cast<Py_ssize_t>(i)) : answer.get();
      if (!take(item, frame.result(i), context)) return differs(site);
    }
    return 0;
  } catch (const PythonError&) {
    return declined();
  }
}

/// False if it is not what the rule of the function says.
bool CupyHost::take(PyObject* item, const CallArray& wanted, runtime::Context& context) {
  const guards::ArrayLibrary& cupy = *guards::findCupy();
  if (Py_TYPE(item) != cupy.type || cupy.device(item) != around_.device) return false;
  Ref held = Ref::create(item);
  const auto fits = [&] {
    const guards::ArrayView array = cupy.view(held.get());
    if (array.descr->type_num != guards::typeNumber(wanted.dtype) || array.rank != wanted.rank) return false;
    bool alike = true, empty = false;
    for (int axis = 0; axis < array.rank; ++axis) {
      if (array.shape[axis] != wanted.shape[axis]) return false;
      empty |= wanted.shape[axis] == 0;
      // Strides of axes along which nothing moves may be anything.
      alike &= wanted.shape[axis] == 1 || array.strides[axis] == wanted.strides[axis];
    }
    return alike || empty || wanted.buffer < 0;
  };
  if (!fits()) return false;
  if (wanted.buffer < 0) return true;
  void* data = cupy.view(held.get()).data;
  if (wanted.rank == 0) {
    const auto device = cudaDevice(around_.device);
    if (!device.ok()) return false;
    return (*device)->driver().memcpyDtoDAsync(reinterpret_cast<uint64_t>(wanted.data),
                                               reinterpret_cast<uint64_t>(data), static_cast<size_t>(bytesOf(wanted)),
                                               stream_) == 0;
  }
  if (memoryOf(item).get() == memoryOfCalls()) {
    held = checked(PyObject_CallMethod(item, "copy", "s", "K"));
    if (!fits()) return false;
    data = cupy.view(held.get()).data;
  }
  context.buffers[wanted.buffer] = data;
  Py_XSETREF(around_.arrays[wanted.buffer], reinterpret_cast<PyArrayObject*>(held.release()));
  return true;
}

bool CupyHost::read(void* to, const void* from, size_t bytes) {
  const auto device = cudaDevice(around_.device);
  absl::Status status = device.status();
  if (device.ok()) {
    const runtime::cuda::Driver& driver = (*device)->driver();
    int result = driver.memcpyDtoHAsync(to, reinterpret_cast<uint64_t>(from), bytes, stream_);
    if (result == 0) result = driver.streamSynchronize(stream_);
    status = runtime::cuda::check(driver, result, "reading a number back");
  }
  if (!status.ok()) PyErr_SetString(PyExc_RuntimeError, std::string(status.message()).c_str());
  return status.ok();
}

int32_t CupyHost::look(runtime::Context&, bool) {
  constexpr std::chrono::milliseconds kTurnOfOthers(5);  // CPython's switch interval
  const auto now = std::chrono::steady_clock::now();
  if (sharedAt_ == decltype(sharedAt_){}) sharedAt_ = now;
  if (around_.mayUnlock && now - sharedAt_ > kTurnOfOthers) {
    around_.policy.unlock();
    around_.policy.lock();
    sharedAt_ = std::chrono::steady_clock::now();
  }
  if (PyErr_CheckSignals() == 0) return 0;
  error_ = takeException();
  return runtime::kStatusDecline;
}

/// What the function raised is for Python to report, but wishes to leave are not to be lost.
int32_t CupyHost::declined() {
  if (PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_Exception))
      PyErr_Clear();
    else
      error_ = takeException();
  }
  return runtime::kStatusDecline;
}

int32_t CupyHost::differs(const capture::LibraryCall& site) {
  PyErr_Clear();
  reportFailure(nameOf(site), "it answered an array of another type, shape or layout than expected",
                around_.library.reported);
  return runtime::kStatusDecline;
}

namespace {

bool restore(const Ref& error) {
  if (!error) return false;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return true;
}

}  // namespace

bool CupyHost::restoreMemoryError() { return restore(memoryError_); }
bool CupyHost::restoreError() { return restore(error_); }

}  // namespace fw::bindings
