// Operands are arrays over memory of the call: the function keeps none of them. A result that turns out to be a view of
// an operand is copied.
#include "bindings/library_host.h"

#include <cstring>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "bindings/buffer_windows.h"
#include "bindings/call_arguments.h"
#include "bindings/error_state.h"
#include "bindings/extents.h"
#include "bindings/output_memory.h"
#include "cpython/warning_watch.h"
#include "graph/dtype.h"
#include "guards/array_layout.h"
#include "runtime/memory.h"

namespace fw::bindings {

using capture::LibraryArgument;
using cpython::checked;
using cpython::PythonError;
using cpython::Ref;
using runtime::CallArray;

/// With the arrays among them.
struct LibraryHost::Arguments final : CallArguments {
  Arguments(const runtime::Calls::Frame& frame, PyObject* const* objects, std::vector<Ref>& kept)
      : CallArguments(frame, objects),
        kept_(kept) {}
  /// Windows that nobody else holds serve the next call.
  ~Arguments() override {
    for (auto& [operand, window] : windows)
      if (Py_REFCNT(window.get()) == 1) kept_[static_cast<size_t>(operand)] = std::move(window);
  }

  /// The array lies in memory of an operand.
  bool owns(PyArrayObject* array) const {
    for (PyObject* base = reinterpret_cast<PyObject*>(array); base && PyArray_Check(base);
         base = PyArray_BASE(reinterpret_cast<PyArrayObject*>(base)))
      for (const auto& [operand, window] : windows)
        if (window.get() == base) return true;
    return false;
  }

  absl::InlinedVector<std::pair<int, Ref>, 4> windows;  ///< by operand

 private:
  Ref window(int operand) override {
    const CallArray array = frame.operand(static_cast<size_t>(operand));
    Ref window = std::move(kept_[static_cast<size_t>(operand)]);
    if (window)
      point(reinterpret_cast<PyArrayObject_fields*>(window.get()), array);
    else
      window = windowOf(array.dtype, {array.shape, array.shape + array.rank},
                        {array.strides, array.strides + array.rank}, array.data);
    windows.emplace_back(operand, window);
    return window;
  }

  /// Of the same type and rank, over other memory.
  static void point(PyArrayObject_fields* window, const CallArray& array) {
    const size_t bytes = static_cast<size_t>(array.rank) * sizeof(npy_intp);
    if (array.data) window->data = static_cast<char*>(array.data);
    if (array.rank == 0) return;  // then nobody has a shape
    if (std::memcmp(window->dimensions, array.shape, bytes) == 0 &&
        std::memcmp(window->strides, array.strides, bytes) == 0)
      return;
    std::memcpy(window->dimensions, array.shape, bytes);
    std::memcpy(window->strides, array.strides, bytes);
    PyArray_UpdateFlags(reinterpret_cast<PyArrayObject*>(window), NPY_ARRAY_UPDATE_ALL);
  }

  std::vector<Ref>& kept_;
};

std::string nameOf(const capture::LibraryCall& site) {
  const Ref name = Ref::steal(PyObject_GetAttrString(site.function.get(), "__name__"));
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  return text ? text : "a library function";
}

int32_t LibraryHost::call(runtime::Context& context, int number) {
  const auto site = static_cast<size_t>(library_.calls.site(number));
  if (library_.loops[site] && runLoop(*library_.loops[site], number, context)) return 0;
  const bool unlocked = policy_.isUnlocked();
  const std::optional<DirectDraw>& direct = library_.draws[site];
  if (direct && !unlocked && draws_.isAlone() && !sources_.empty()) {
    bitgen_t* source = sources_[static_cast<size_t>(number)];
    if (source && drawFrom(source, *direct, number, context)) return 0;
  }
  if (unlocked) {
    policy_.lock();
    draws_.wake();
    forgetSources();
  }
  policy_.hold();
  const int32_t status = callWithLock(context, number);
  if (unlocked) {
    forgetSources();
    policy_.unlock();
  }
  return status;
}

int32_t LibraryHost::callWithLock(runtime::Context& context, int number) {
  const capture::LibraryCall& site = library_.sites[static_cast<size_t>(library_.calls.site(number))];
  if (!site.quiet && !state_) state_.emplace();
  if (state_ && !state_->isEntered()) return declined();
  try {
    const std::optional<DirectDraw>& direct = library_.draws[static_cast<size_t>(library_.calls.site(number))];
    if (direct && drawOne(*direct, number, context)) return 0;
    runtime::Calls::Frame frame(library_.calls, number, context);
    std::vector<std::vector<Ref>>& kept = library_.windows;
    if (kept.empty()) kept.resize(library_.calls.count());
    kept[static_cast<size_t>(number)].resize(frame.operandCount());
    Arguments arguments(frame, objects_, kept[static_cast<size_t>(number)]);
    std::optional<RaisingState> own;
    if (site.errors.any() && !own.emplace(site.errors).isEntered()) return declined();
    std::optional<cpython::WarningWatch> watch;
    if (site.watched) watch.emplace();
    const Ref answer = arguments.call(site, [&](PyObject* first) {
      forgetSources();
      site.draws ? draws_.begin(first) : draws_.pause();
    });
    const bool warned = watch && watch->hasWarned();
    watch.reset();
    own.reset();
    if (!answer || warned) return declined();
    if (site.draws && PyArray_Check(answer.get())) draws_.pause();  // it has let other threads run, as large ones do
    if (site.python) return takeNumber(answer.get(), frame.result(0)) ? 0 : differs(site);
    return accept(answer.get(), site, frame, context, arguments);
  } catch (const PythonError&) {
    return declined();
  }
}

namespace {

using Item = capture::LibraryItem::Kind;

/// An item of the answer that is a result.
struct Given {
  PyObject* object;
  Item kind;
};
using AllGiven = absl::InlinedVector<Given, 4>;

/// The results in a tuple or list; false if its other items are not what they should be.
bool resultsIn(PyObject* answer, const capture::LibraryCall& site, AllGiven& found) {
  const auto count = static_cast<size_t>(PySequence_Fast_GET_SIZE(answer));
  if (!site.items.empty() && count != site.items.size()) return false;
  for (size_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(answer, static_cast<Py_ssize_t>(i));
    const Item kind = site.items.empty() ? Item::kValue : site.items[i].kind;
    if (kind != Item::kFixed) {
      found.push_back({item, kind});
      continue;
    }
    PyObject* fixed = site.items[i].object.get();  // plain: comparing runs no code of the user
    const bool same = Py_TYPE(item) == Py_TYPE(fixed) && PyObject_RichCompareBool(item, fixed, Py_EQ) == 1;
    if (!same) return false;
  }
  return true;
}

}  // namespace

int32_t LibraryHost::accept(PyObject* answer, const capture::LibraryCall& site, runtime::Calls::Frame& frame,
                            runtime::Context& context, const Arguments& arguments) {
  const bool sequence = site.tuple && (PyTuple_Check(answer) || PyList_Check(answer));
  if (site.tuple != sequence) return differs(site);
  AllGiven found;
  if (!site.tuple) found.push_back({answer, Item::kValue});
  if (site.tuple && !resultsIn(answer, site, found)) return differs(site);
  if (found.size() != frame.resultCount()) return differs(site);
  // Sizes that data decides may be others than what the trace has assumed: that is nobody's mistake.
  if (site.decides) {
    for (size_t i = 0; i < found.size(); ++i) {
      if (frame.result(i).rank == 0) continue;
      auto* array = reinterpret_cast<PyArrayObject*>(found[i].object);
      if (!PyArray_CheckExact(found[i].object) || PyArray_NDIM(array) != frame.result(i).rank) return differs(site);
      if (!frame.bind(i, PyArray_DIMS(array))) return runtime::kStatusDecline;
    }
    frame.settle();
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const auto& [object, kind] = found[i];
    const bool taken =
        kind == Item::kValue ? take(object, frame.result(i), context, arguments) : takeNumber(object, frame.result(i));
    if (!taken) return differs(site);
  }
  return 0;
}

bool LibraryHost::make(runtime::Context& context, int number) {
  const bool unlocked = policy_.isUnlocked();
  if (unlocked) policy_.lock();
  policy_.hold();
  const bool made = makeWithLock(context, number);
  PyErr_Clear();  // Python runs the call again, and meets what is to be met
  if (unlocked) policy_.unlock();
  return made;
}

bool LibraryHost::makeWithLock(runtime::Context& context, int number) {
  const runtime::Calls::Frame frame = runtime::Calls::Frame::ofMade(library_.calls, number, context);
  const CallArray wanted = frame.result(0);
  size_t bytes = static_cast<size_t>(graph::itemSize(wanted.dtype));
  for (int axis = 0; axis < wanted.rank; ++axis)
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(wanted.shape[axis]), &bytes)) return false;
  if (!runtime::mayAllocate()) return false;
  std::optional<PooledAllocation> pooled;
  if (bytes >= kPooledBytes && !pooled.emplace().ok()) return false;
  // The strides of an array without elements are NumPy's.
  auto* strides = bytes == 0 ? nullptr : const_cast<npy_intp*>(reinterpret_cast<const npy_intp*>(wanted.strides));
  PyObject* array =
      PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(guards::typeNumber(wanted.dtype)), wanted.rank,
                           reinterpret_cast<const npy_intp*>(wanted.shape), strides, nullptr, 0, nullptr);
  if (!array) return false;
  context.buffers[wanted.buffer] = PyArray_DATA(reinterpret_cast<PyArrayObject*>(array));
  Py_XSETREF(arrays_[wanted.buffer], reinterpret_cast<PyArrayObject*>(array));
  return true;
}

namespace {

/// Strides of axes along which nothing moves may be anything.
bool hasLayout(PyArrayObject* array, const CallArray& wanted) {
  if (PyArray_SIZE(array) == 0) return true;
  for (int axis = 0; axis < wanted.rank; ++axis)
    if (wanted.shape[axis] != 1 && PyArray_STRIDE(array, axis) != wanted.strides[axis]) return false;
  return true;
}

}  // namespace

/// False if it is not what the rule of the function says.
bool LibraryHost::take(PyObject* item, const CallArray& wanted, runtime::Context& context, const Arguments& arguments) {
  const int type = guards::typeNumber(wanted.dtype);
  if (wanted.rank == 0) {
    if (Py_TYPE(item) != guards::scalarType(wanted.dtype)) return false;
    if (wanted.buffer < 0) return true;
    PyArray_ScalarAsCtype(item, wanted.data);
    return true;
  }
  if (!PyArray_CheckExact(item)) return false;
  Ref held = Ref::create(item);
  auto* array = reinterpret_cast<PyArrayObject*>(item);
  const bool same = PyArray_TYPE(array) == type && PyArray_NDIM(array) == wanted.rank && PyArray_ISNOTSWAPPED(array) &&
                    PyArray_ISALIGNED(array) &&
                    std::memcmp(PyArray_DIMS(array), wanted.shape, static_cast<size_t>(wanted.rank) * 8) == 0;
  if (!same) return false;
  if (wanted.buffer < 0) return true;
  if (!hasLayout(array, wanted)) return false;
  if (arguments.owns(array) || !PyArray_ISWRITEABLE(array)) {
    held = checked(PyArray_NewCopy(array, NPY_KEEPORDER));
    array = reinterpret_cast<PyArrayObject*>(held.get());
    if (!hasLayout(array, wanted)) return false;
  }
  context.buffers[wanted.buffer] = PyArray_DATA(array);
  Py_XSETREF(arrays_[wanted.buffer], reinterpret_cast<PyArrayObject*>(held.release()));
  return true;
}

namespace {

/// In C order; null if there is no memory, or the result is in another.
PyArrayObject* newArray(const CallArray& result) {
  const auto* shape = reinterpret_cast<const npy_intp*>(result.shape);
  PyObject* array = PyArray_SimpleNew(result.rank, shape, guards::typeNumber(result.dtype));
  if (array && hasLayout(reinterpret_cast<PyArrayObject*>(array), result))
    return reinterpret_cast<PyArrayObject*>(array);
  PyErr_Clear();
  Py_XDECREF(array);
  return nullptr;
}

}  // namespace

void* LibraryHost::memoryOfLast(const CallArray& result, absl::Span<const CallArray> operands) const {
  PyArrayObject* last = arrays_[result.buffer];
  if (!last || Py_REFCNT(last) != 1) return nullptr;
  const char* memory = PyArray_BYTES(last);
  const auto liesIn = [&](const CallArray& operand) {
    const auto [first, end] = reachOf(static_cast<char*>(operand.data), graph::itemSize(operand.dtype), operand.rank,
                                      operand.shape, operand.strides);
    return first < memory + PyArray_NBYTES(last) && memory < end;
  };
  const bool same = PyArray_TYPE(last) == guards::typeNumber(result.dtype) && PyArray_NDIM(last) == result.rank &&
                    PyArray_CHKFLAGS(last, NPY_ARRAY_OWNDATA) &&
                    std::equal(result.shape, result.shape + result.rank, PyArray_DIMS(last)) &&
                    std::equal(result.strides, result.strides + result.rank, PyArray_STRIDES(last));
  return same && std::ranges::none_of(operands, liesIn) ? PyArray_DATA(last) : nullptr;
}

/// What the last call has answered is given up when this one is done: operands may lie in it.
bool LibraryHost::runLoop(const DirectLoop& loop, int number, runtime::Context& context) {
  const runtime::Calls::Frame frame(library_.calls, number, context);
  const capture::LibraryCall& site = library_.sites[static_cast<size_t>(library_.calls.site(number))];
  absl::InlinedVector<CallArray, 2> operands, results;
  for (const LibraryArgument& argument : site.positional)
    if (argument.kind == LibraryArgument::Kind::kArray)
      operands.push_back(frame.operand(static_cast<size_t>(argument.index)));
  for (size_t i = 0; i < frame.resultCount(); ++i) results.push_back(frame.result(i));
  absl::InlinedVector<std::pair<int, void*>, 2> places;
  absl::InlinedVector<std::pair<int, PyArrayObject*>, 2> fresh;
  const bool unlocked = policy_.isUnlocked();
  const auto memoryFor = [&](const CallArray& result) -> void* {
    if (result.buffer < 0 || result.rank == 0) return result.buffer < 0 ? nullptr : result.data;
    void* memory = memoryOfLast(result, operands);
    if (!memory) {
      if (unlocked) policy_.lock();
      PyArrayObject* array = newArray(result);
      if (unlocked) policy_.unlock();
      if (!array) return nullptr;
      fresh.emplace_back(result.buffer, array);
      memory = PyArray_DATA(array);
    }
    places.emplace_back(result.buffer, memory);
    return memory;
  };
  const bool done = loop.compute(operands, results, memoryFor);
  if (done)
    for (const auto& [buffer, memory] : places) context.buffers[buffer] = memory;
  if (fresh.empty()) return done;
  if (unlocked) policy_.lock();
  for (auto [buffer, array] : fresh) {
    if (done) std::swap(arrays_[buffer], array);
    Py_XDECREF(array);
  }
  if (unlocked) policy_.unlock();
  return done;
}

bool LibraryHost::drawOne(const DirectDraw& direct, int number, runtime::Context& context) {
  const capture::LibraryCall& site = library_.sites[static_cast<size_t>(library_.calls.site(number))];
  const LibraryArgument& self = site.positional[0];
  PyObject* generator = self.kind == LibraryArgument::Kind::kObject ? objects_[self.index] : self.object.get();
  bitgen_t* source = draws_.sourceOf(generator);
  if (!source) return false;
  sources_.resize(library_.calls.count());
  sources_[static_cast<size_t>(number)] = source;
  return drawFrom(source, direct, number, context);
}

void LibraryHost::forgetSources() {
  for (const size_t number : drawing_) shortcuts_[number].function = nullptr;
  drawing_.clear();
}

bool LibraryHost::drawFrom(bitgen_t* source, const DirectDraw& direct, int number, runtime::Context& context) {
  const runtime::Calls::Frame frame(library_.calls, number, context);
  const CallArray result = frame.result(0);
  int64_t nobodys = 0;
  if (!direct.draw(source, frame, result.buffer < 0 ? &nobodys : result.data)) return false;
  if (!draws_.isAlone() || shortcuts_.empty() || direct.hasOperands()) return true;
  wholes_.resize(shortcuts_.size());
  const auto at = static_cast<size_t>(number);
  if (shortcuts_[at].function) return true;
  shortcuts_[at] = direct.shortcut(source, wholes_[at]);
  drawing_.push_back(at);
  return true;
}

bool LibraryHost::takeNumber(PyObject* item, const CallArray& wanted) {
  if (wanted.dtype == graph::DType::kF64) {
    if (!PyFloat_CheckExact(item)) return false;
    if (wanted.buffer >= 0) *static_cast<double*>(wanted.data) = PyFloat_AS_DOUBLE(item);
    return true;
  }
  if (!PyLong_CheckExact(item)) return false;
  int overflow = 0;
  const int64_t number = PyLong_AsLongLongAndOverflow(item, &overflow);
  if (overflow) return false;
  if (wanted.buffer >= 0) *static_cast<int64_t*>(wanted.data) = number;
  return true;
}

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

}  // namespace

/// What the function raised is for Python to report, but wishes to leave are not to be lost.
int32_t LibraryHost::declined() {
  if (PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_Exception))
      PyErr_Clear();
    else
      error_ = takeException();
  }
  return runtime::kStatusDecline;
}

int32_t LibraryHost::differs(const capture::LibraryCall& site) {
  PyErr_Clear();
  if (site.guessed) return runtime::kStatusDecline;
  reportFailure(nameOf(site), "it answered an array of another type, shape or layout than expected", library_.reported);
  return runtime::kStatusDecline;
}

int32_t LibraryHost::look(runtime::Context& context, bool heavy) {
  // A clock costs more than a short turn: the pause between looks grows while they come too often. Turns of one loop
  // may take very different times, so that of longer ones fewer are left out.
  constexpr std::chrono::microseconds kOften(200), kRarely(2000);
  const int32_t most = heavy ? 64 : 1 << 10;
  const auto now = std::chrono::steady_clock::now();
  const auto since = now - looked_;
  int32_t& pause = pauses_[heavy ? 1 : 0];
  if (since < kOften) pause = std::min(2 * pause, most);
  if (since > kRarely) pause = 1;
  context.untilLook[heavy ? 1 : 0] = pause;
  const bool unlocked = policy_.isUnlocked();
  if (unlocked) policy_.lock();
  policy_.hold();
  constexpr std::chrono::milliseconds kTurnOfOthers(5);  // CPython's switch interval
  if (looked_ == decltype(looked_){}) sharedAt_ = now;
  if (!unlocked && mayUnlock_ && now - sharedAt_ > kTurnOfOthers) {
    policy_.unlock();
    policy_.lock();
    sharedAt_ = std::chrono::steady_clock::now();
  }
  looked_ = now;
  draws_.pause();  // handlers of signals may draw, too
  forgetSources();
  const bool raised = PyErr_CheckSignals() != 0;
  if (raised) error_ = takeException();
  if (unlocked) policy_.unlock();
  return raised ? runtime::kStatusDecline : 0;
}

bool LibraryHost::restoreError() {
  if (!error_) return false;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error_.get())), error_.get());
  return true;
}

}  // namespace fw::bindings
