// The common case, one fresh C-ordered array, costs one allocation and no look-ups. Everything symbolic (sizes, strides
// of views, offsets, Python ints) is evaluated by one SymProgram at the start of the call.
#include "bindings/result_builder.h"

#include <algorithm>
#include <cstring>

#include "bindings/exit_objects.h"
#include "bindings/held_locks.h"
#include "frame_eval/mixed_numbers.h"
#include "graph/bound_sizes.h"
#include "cpython/ref.h"
#include "graph/rewriting.h"
#include "graph/support/check.h"
#include "guards/array_layout.h"
#include "runtime/memory.h"

namespace fw::bindings {

using capture::ExitNode;
using cpython::Ref;

namespace {

/// The buffer is an array of its own, made for this call.
bool isOurs(const graph::Buffer& buffer) {
  return buffer.kind == graph::BufferKind::kOutput || buffer.kind == graph::BufferKind::kGiven;
}

bool isOfOneClass(ExitNode::Kind kind) {
  return kind == ExitNode::Kind::kArrayScalar || kind == ExitNode::Kind::kPyFloat || kind == ExitNode::Kind::kDataInt ||
         kind == ExitNode::Kind::kPyBool || kind == ExitNode::Kind::kPyComplex;
}

bool isNumber(ExitNode::Kind kind) {
  return isOfOneClass(kind) || kind == ExitNode::Kind::kMixed || kind == ExitNode::Kind::kChosen;
}

}  // namespace

ResultBuilder::ResultBuilder(const graph::Plan& plan, capture::ExitPlan exit, const graph::SymContext& syms,
                             const ArrayFactory& arrays, absl::Span<const int> hostInputs)
    : arrays_(arrays),
      exit_(std::move(exit)),
      bufferCount_(plan.buffers.size()) {
  std::vector<graph::SymId> wanted;
  auto append = [&](const auto& ids) {
    const int first = static_cast<int>(wanted.size());
    wanted.insert(wanted.end(), ids.begin(), ids.end());
    return first;
  };
  std::vector<bool> needsArray(plan.buffers.size(), false);
  auto bufferOf = [&](int output) { return plan.outputs[output].buffer.index; };
  for (const ExitNode& node : exit_.nodes) {
    if (node.kind != ExitNode::Kind::kArray) continue;
    needsArray[bufferOf(node.index)] = true;
    if (node.baseNode >= 0) needsArray[bufferOf(node.baseNode)] = true;
  }
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const graph::Buffer& buffer = plan.buffers[b];
    if (buffer.kind == graph::BufferKind::kGiven) given_.push_back(static_cast<int>(b));
    if (buffer.kind != graph::BufferKind::kOutput) continue;
    OutputBuffer out{static_cast<int>(b),
                     guards::typeNumber(buffer.dtype),
                     static_cast<size_t>(graph::itemSize(buffer.dtype)),
                     static_cast<int>(buffer.shape.size()),
                     append(buffer.shape),
                     -1,
                     false,
                     buffer.shape.empty() && !needsArray[b] && arrays_.onHost()};
    if (!buffer.layout.isCOrder()) {
      out.fortran = buffer.layout.isFOrder();
      if (!out.fortran) out.strides = append(buffer.strides);
    }
    outputs_.push_back(out);
  }
  const absl::flat_hash_set<graph::SymId> decided = graph::boundOnTheWay(plan);
  for (const graph::OutputBinding& binding : plan.outputs) {
    const graph::Buffer& buffer = plan.buffers[binding.buffer.index];
    View view{static_cast<int>(binding.buffer.index),
              !binding.isView && isOurs(buffer),
              buffer.kind == graph::BufferKind::kGiven,
              guards::typeNumber(buffer.dtype),
              0,
              -1,
              0,
              0};
    view.rank = static_cast<int>(binding.isView ? binding.shape.size() : buffer.shape.size());
    if (binding.isView) view.offset = append(std::vector{binding.offset});
    view.sizes = append(binding.isView ? binding.shape : buffer.shape);
    view.strides = append(binding.isView ? binding.strides : buffer.strides);
    const auto isLate = [&](graph::SymId size) { return graph::mentions(syms, size, decided); };
    view.late = std::any_of(binding.shape.begin(), binding.shape.end(), isLate) ||
                std::any_of(buffer.shape.begin(), buffer.shape.end(), isLate);
    views_.push_back(view);
  }
  checkMemory(plan);
  planCopies();
  planNumbers(plan, hostInputs);
  workspace_ = append(std::vector{plan.workspaceBytes});
  for (const graph::Group& commit : plan.commits)
    written_.insert(written_.end(), commit.outputs.size(), {append(commit.domain), commit.domain.size()});
  for (const ExitNode& node : exit_.nodes)
    intResults_.push_back(node.kind == ExitNode::Kind::kPyInt ? append(std::vector{node.sym}) : -1);
  program_ = runtime::RepeatedSymProgram(runtime::SymProgram(syms, wanted));
  late_ =
      std::any_of(wanted.begin(), wanted.end(), [&](graph::SymId id) { return graph::mentions(syms, id, decided); });
}

bool ResultBuilder::hasLateCopies() const {
  return std::any_of(copies_.begin(), copies_.end(),
                     [&](int output) { return views_[static_cast<size_t>(output)].late; });
}

/// Before anything runs: what NumPy makes anew is not found in memory of the user's that the call writes into, and the
/// base of a view is an array of its own.
void ResultBuilder::checkMemory(const graph::Plan& plan) const {
  std::vector<bool> written(bufferCount_, false);
  for (const graph::Group& commit : plan.commits)
    for (const graph::ValueId store : commit.outputs) written[plan.bufferOf(store).index] = true;
  for (const graph::BufferId id : graph::rewrittenInputs(plan)) written[id.index] = true;
  for (const ExitNode& node : exit_.nodes) {
    const bool array = node.kind == ExitNode::Kind::kArray;
    if (isNumber(node.kind) || (array && node.baseObject < 0)) FW_CHECK(!written[views_[node.index].buffer]);
    if (!array || node.baseNode < 0) continue;
    const graph::Buffer& base = plan.buffers[views_[node.baseNode].buffer];
    FW_CHECK(isOurs(base) && views_[node.index].buffer == views_[node.baseNode].buffer);
  }
}

/// Equal values of the graph share a buffer but may be distinct arrays of the program: the first output gets the buffer
/// itself, the others get copies. So does what is fresh in NumPy and a part of a buffer here.
void ResultBuilder::planCopies() {
  std::vector<int> owner(bufferCount_, -1);
  copyOf_.assign(views_.size(), -1);
  for (const ExitNode& node : exit_.nodes) {
    if (node.kind != ExitNode::Kind::kArray || node.baseObject >= 0) continue;
    const int output = node.baseNode >= 0 ? node.baseNode : node.index;
    int& owned = owner[views_[output].buffer];
    if (views_[output].wholeBuffer && owned < 0) owned = output;
    if (owned == output || copyOf_[output] >= 0) continue;
    copyOf_[output] = static_cast<int>(copies_.size());
    copies_.push_back(output);
  }
}

void ResultBuilder::planNumbers(const graph::Plan& plan, absl::Span<const int> hostInputs) {
  numberOf_.assign(views_.size(), -1);
  if (arrays_.onHost()) return;
  for (const ExitNode& node : exit_.nodes) {
    if (!isNumber(node.kind)) continue;
    const graph::Buffer& buffer = plan.buffers[views_[node.index].buffer];
    const bool isHost = buffer.kind == graph::BufferKind::kInput &&
                        std::find(hostInputs.begin(), hostInputs.end(), buffer.index) != hostInputs.end();
    if (isHost || numberOf_[node.index] >= 0) continue;
    numberOf_[node.index] = static_cast<int>(numbers_.size());
    numbers_.push_back(node.index);
  }
}

bool ResultBuilder::readNumbers(Call& call,
                                absl::FunctionRef<bool(void* to, const void* from, size_t bytes)> read) const {
  for (size_t i = 0; i < numbers_.size(); ++i) {
    const View& view = views_[static_cast<size_t>(numbers_[i])];
    const Ref descr = Ref::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(view.typeNumber)));
    const auto bytes = static_cast<size_t>(PyDataType_ELSIZE(reinterpret_cast<PyArray_Descr*>(descr.get())));
    if (!read(&call.scalars[2 * (outputs_.size() + i)], dataOf(call, view), bytes)) return false;
  }
  return true;
}

size_t ResultBuilder::slotOf(int output) const {
  const int copy = copyOf_[output];
  return copy < 0 ? static_cast<size_t>(views_[output].buffer) : bufferCount_ + 2 * static_cast<size_t>(copy);
}

bool ResultBuilder::allocateOne(Call& call, size_t output) const {
  const OutputBuffer& out = outputs_[output];
  if (out.scalarOnly) {
    call.buffers[out.buffer] = &call.scalars[2 * output];
    return true;
  }
  const int64_t* dims = call.sizes + out.sizes;
  const int64_t* strides = out.strides < 0 ? nullptr : call.sizes + out.strides;
  size_t bytes = out.itemSize;
  for (int d = 0; d < out.rank; ++d) bytes *= static_cast<size_t>(dims[d]);
  call.outputBytes += static_cast<int64_t>(bytes);
  const ArrayShape shape{out.typeNumber, out.itemSize, out.rank, dims, strides, out.fortran};
  PyObject* array = arrays_.allocate(shape, bytes);
  if (!array) return false;
  call.arrays[out.buffer] = reinterpret_cast<PyArrayObject*>(array);
  call.buffers[out.buffer] = arrays_.dataOf(array);
  return true;
}

bool ResultBuilder::allocate(Call& call) const {
  program_.run(call.symbols, call.sizes);
  for (const auto& [first, rank] : written_) {
    int64_t bytes = 8;  // about: it is for the decision on the GIL
    for (size_t d = 0; d < rank; ++d) bytes *= call.sizes[first + static_cast<int>(d)];
    call.outputBytes += bytes;
  }
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (!allocateOne(call, i)) return false;
  return copies_.empty() || allocateCopies(call);
}

bool ResultBuilder::allocateCopies(Call& call) const {
  if (!arrays_.onHost()) return true;
  return std::all_of(copies_.begin(), copies_.end(),
                     [&](int output) { return views_[output].late || allocateCopy(call, output); });
}

bool ResultBuilder::allocateCopy(Call& call, int output) const {
  const View& view = views_[output];
  PyArrayObject** slot = call.arrays + slotOf(output);
  PyArrayObject* source = call.arrays[view.buffer];
  if (!view.wholeBuffer || view.given) {
    void* data = view.given ? slot : dataOf(call, view);  // not known yet: see fillCopies()
    source = reinterpret_cast<PyArrayObject*>(buildView(call, view, data, nullptr, false));
    if (!source) return false;
    slot[1] = source;
  }
  FW_CHECK(source);
  if (!runtime::mayAllocate()) return PyErr_NoMemory(), false;
  slot[0] = reinterpret_cast<PyArrayObject*>(PyArray_NewLikeArray(source, NPY_KEEPORDER, nullptr, 0));
  return slot[0] != nullptr;
}

bool ResultBuilder::fillCopies(Call& call) const {
  if (!arrays_.onHost()) return copyOnDevice(call);
  for (const int output : copies_) {
    if (views_[output].late && !allocateCopy(call, output)) return false;
    PyArrayObject** slot = call.arrays + slotOf(output);
    PyArrayObject* source = slot[1] ? slot[1] : call.arrays[views_[output].buffer];
    if (views_[output].given)
      reinterpret_cast<PyArrayObject_fields*>(source)->data = static_cast<char*>(dataOf(call, views_[output]));
    if (PyArray_CopyInto(slot[0], source) < 0) return false;
  }
  return true;
}

bool ResultBuilder::copyOnDevice(Call& call) const {
  for (const int output : copies_) {
    const View& view = views_[output];
    Ref source = Ref::create(reinterpret_cast<PyObject*>(call.arrays[view.buffer]));
    FW_CHECK(source);
    if (!view.wholeBuffer) source = Ref::steal(buildView(call, view, dataOf(call, view), source.get(), false));
    PyObject* copy = source ? arrays_.copy(source.get()) : nullptr;
    if (!copy) return false;
    call.arrays[slotOf(output)] = reinterpret_cast<PyArrayObject*>(copy);
  }
  return true;
}

void ResultBuilder::release(Call& call) const {
  for (const OutputBuffer& out : outputs_) Py_CLEAR(call.arrays[out.buffer]);
  for (int buffer : given_) Py_CLEAR(call.arrays[buffer]);
  for (size_t i = bufferCount_; i < arrayCount(); ++i) Py_CLEAR(call.arrays[i]);
}

void* ResultBuilder::dataOf(const Call& call, const View& view) const {
  return static_cast<char*>(call.buffers[view.buffer]) + (view.offset < 0 ? 0 : call.sizes[view.offset]);
}

/// An array over the memory at `data`; `base`, if any, keeps it alive.
PyObject* ResultBuilder::buildView(Call& call, const View& view, void* data, PyObject* base, bool writeable) const {
  return arrays_.view({view.typeNumber, 0, view.rank, call.sizes + view.sizes, call.sizes + view.strides}, data, base,
                      writeable);
}

PyObject* ResultBuilder::buildArray(Call& call, const ExitNode& node) const {
  const View& view = views_[node.index];
  if (node.baseObject >= 0) {
    PyObject* base = call.objects[node.baseObject];
    return buildView(call, view, dataOf(call, view), base, node.writeable && arrays_.isWriteable(base));
  }
  if (node.baseNode >= 0) {
    PyObject* base = reinterpret_cast<PyObject*>(call.arrays[slotOf(node.baseNode)]);
    FW_CHECK(base);
    char* data = static_cast<char*>(arrays_.dataOf(base)) + (view.offset < 0 ? 0 : call.sizes[view.offset]);
    return buildView(call, view, data, base, node.writeable);
  }
  PyArrayObject* array = call.arrays[slotOf(node.index)];
  FW_CHECK(array);
  return Py_NewRef(reinterpret_cast<PyObject*>(array));
}

PyObject* ResultBuilder::buildContainer(Call& call, const ExitNode& node, Progress& progress) const {
  absl::InlinedVector<Ref, 8> owned;
  absl::InlinedVector<PyObject*, 8> children;
  for (int child : node.children) {
    owned.push_back(Ref::steal(child < 0 ? nullptr : buildNode(call, child, progress)));
    if (child >= 0 && !owned.back()) return nullptr;
    children.push_back(owned.back().get());
  }
  return makeObject(node, node.live < 0 ? node.object.get() : call.objects[node.live], children);
}

namespace {

PyObject* buildScalar(int typeNumber, void* data) {
  Ref descr = Ref::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromType(typeNumber)));
  return PyArray_Scalar(data, reinterpret_cast<PyArray_Descr*>(descr.get()), nullptr);
}

PyObject* buildNumber(ExitNode::Kind kind, int typeNumber, void* data) {
  switch (kind) {
    case ExitNode::Kind::kPyFloat: return PyFloat_FromDouble(*static_cast<const double*>(data));
    case ExitNode::Kind::kDataInt: return PyLong_FromLongLong(*static_cast<const int64_t*>(data));
    case ExitNode::Kind::kPyBool: return PyBool_FromLong(*static_cast<const uint8_t*>(data));
    case ExitNode::Kind::kPyComplex: {
      const double* parts = static_cast<const double*>(data);
      return PyComplex_FromDoubles(parts[0], parts[1]);
    }
    default: return buildScalar(typeNumber, data);
  }
}

/// A number of one of several classes.
PyObject* buildMixed(int typeNumber, void* data, int64_t which) {
  const bool whole = typeNumber != NPY_DOUBLE;
  const double* number = static_cast<const double*>(data);
  switch (which) {
    case capture::MixedNumbers::kNone: return Py_NewRef(Py_None);
    case capture::MixedNumbers::kInt:
      return whole ? PyLong_FromLongLong(*static_cast<const int64_t*>(data)) : PyLong_FromDouble(*number);
    case capture::MixedNumbers::kFloat: return PyFloat_FromDouble(*number);
    default: return buildScalar(typeNumber, data);
  }
}

}  // namespace

PyObject* ResultBuilder::buildItems(Call& call, const ExitNode& node, Progress& progress) const {
  const Ref length = Ref::steal(buildNode(call, node.children[0], progress));
  return length ? buildList(call, node.children[1], PyLong_AsSsize_t(length.get()), {}) : nullptr;
}

PyObject* ResultBuilder::buildList(Call& call, int item, Py_ssize_t count, ItemPlace at, Py_ssize_t first) const {
  Ref list = Ref::steal(count < 0 ? nullptr : PyList_New(count));
  at.push_back(first);
  if (const ExitNode& node = exit_.nodes[item]; list && isOfOneClass(node.kind)) {  // without asking again for each
    const View& view = views_[node.index];
    char* data = itemData(call, view, at);
    const int64_t stride = call.sizes[view.strides + at.size() - 1];
    for (Py_ssize_t i = 0; i < count; ++i, data += stride) {
      PyObject* number = buildNumber(node.kind, view.typeNumber, data);
      if (!number) return nullptr;
      PyList_SET_ITEM(list.get(), i, number);
    }
    return list.release();
  }
  for (Py_ssize_t i = 0; list && i < count; ++i) {
    at.back() = first + i;
    PyObject* built = buildItem(call, item, at);
    if (!built) return nullptr;
    PyList_SET_ITEM(list.get(), i, built);
  }
  return list.release();
}

char* ResultBuilder::itemData(const Call& call, const View& view, const ItemPlace& at) const {
  char* data = static_cast<char*>(dataOf(call, view));
  for (size_t axis = 0; axis < at.size(); ++axis) data += at[axis] * call.sizes[view.strides + axis];
  return data;
}

int ResultBuilder::chosen(const ExitNode& node, int64_t number) {
  return node.children.at(static_cast<size_t>(number - node.which));
}

PyObject* ResultBuilder::buildItem(Call& call, int index, const ItemPlace& at) const {
  const ExitNode& node = exit_.nodes[index];
  const auto each = [&](Ref sequence, const ItemPlace& place) -> PyObject* {
    for (size_t i = 0; sequence && i < node.children.size(); ++i) {
      PyObject* item = buildItem(call, node.children[i], place);
      if (!item) return nullptr;
      if (PyList_CheckExact(sequence.get()))
        PyList_SET_ITEM(sequence.get(), static_cast<Py_ssize_t>(i), item);
      else
        PyTuple_SET_ITEM(sequence.get(), static_cast<Py_ssize_t>(i), item);
    }
    return sequence.release();
  };
  const auto count = static_cast<Py_ssize_t>(node.children.size());
  if (node.kind == ExitNode::Kind::kTuple) return each(Ref::steal(PyTuple_New(count)), at);
  const View& view = views_[node.index];
  if (node.kind == ExitNode::Kind::kRowList)
    return buildList(call, node.children[0], call.sizes[view.sizes + at.size()], at);
  const auto place = [&](const View& of) { return itemData(call, of, at); };
  char* data = place(view);
  if (node.kind == ExitNode::Kind::kRecord)
    return each(Ref::steal(PyList_New(count)), {*reinterpret_cast<const int64_t*>(data)});
  if (node.kind == ExitNode::Kind::kBlock)
    return buildList(call, node.children[0], *reinterpret_cast<const int64_t*>(data), {},
                     *reinterpret_cast<const int64_t*>(place(views_[node.which])));
  if (node.kind == ExitNode::Kind::kMixed)
    return buildMixed(view.typeNumber, data, *reinterpret_cast<const int64_t*>(place(views_[node.which])));
  if (node.kind == ExitNode::Kind::kChosen) {
    const ExitNode& thing = exit_.nodes[chosen(node, *reinterpret_cast<const int64_t*>(data))];
    return Py_NewRef(thing.kind == ExitNode::Kind::kConstant ? thing.object.get() : call.objects[thing.index]);
  }
  if (node.kind != ExitNode::Kind::kRow) return buildNumber(node.kind, view.typeNumber, data);
  const Ref row = Ref::steal(
      arrays_.view({view.typeNumber, 0, view.rank - 1, call.sizes + view.sizes + 1, call.sizes + view.strides + 1},
                   data, nullptr, false));
  if (!row || !runtime::mayAllocate()) return row ? PyErr_NoMemory() : nullptr;
  return PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(row.get()), NPY_CORDER);
}

PyObject* ResultBuilder::buildNode(Call& call, int index, Progress& progress) const {
  const ExitNode& node = exit_.nodes[index];
  auto data = [&]() -> void* {
    const int number = numberOf_[node.index];
    if (number >= 0) return &call.scalars[2 * (outputs_.size() + static_cast<size_t>(number))];
    return dataOf(call, views_[node.index]);
  };
  PyObject* result = nullptr;
  switch (node.kind) {
    case ExitNode::Kind::kConstant: result = Py_NewRef(node.object.get()); break;
    case ExitNode::Kind::kObject: result = Py_NewRef(call.objects[node.index]); break;
    case ExitNode::Kind::kShared:
      FW_CHECK(progress.made[node.index]);
      result = Py_NewRef(progress.made[node.index]);
      break;
    case ExitNode::Kind::kArray: result = buildArray(call, node); break;
    case ExitNode::Kind::kArrayScalar:
    case ExitNode::Kind::kPyFloat:
    case ExitNode::Kind::kDataInt:
    case ExitNode::Kind::kPyBool:
    case ExitNode::Kind::kPyComplex: result = buildNumber(node.kind, views_[node.index].typeNumber, data()); break;
    case ExitNode::Kind::kMixed:
      result = buildMixed(views_[node.index].typeNumber, data(),
                          *static_cast<const int64_t*>(dataOf(call, views_[node.which])));
      break;
    case ExitNode::Kind::kChosen:
      result = buildNode(call, chosen(node, *static_cast<const int64_t*>(data())), progress);
      break;
    case ExitNode::Kind::kItems: result = buildItems(call, node, progress); break;
    case ExitNode::Kind::kRow:
    case ExitNode::Kind::kRowList:
    case ExitNode::Kind::kBlock:
    case ExitNode::Kind::kRecord: FW_UNREACHABLE();
    case ExitNode::Kind::kPyInt: result = PyLong_FromLongLong(call.sizes[intResults_[index]]); break;
    case ExitNode::Kind::kTuple:
    case ExitNode::Kind::kList:
    case ExitNode::Kind::kSet:
    case ExitNode::Kind::kFrozenSet:
    case ExitNode::Kind::kDict:
    case ExitNode::Kind::kSlice:
    case ExitNode::Kind::kRange:
    case ExitNode::Kind::kIterator:
    case ExitNode::Kind::kCall:
    case ExitNode::Kind::kSubclass:
    case ExitNode::Kind::kAttribute:
    case ExitNode::Kind::kMethod:
    case ExitNode::Kind::kFunction:
    case ExitNode::Kind::kCell:
    case ExitNode::Kind::kInstance: result = buildContainer(call, node, progress); break;
  }
  progress.made[index] = result;
  return result;
}

bool ResultBuilder::isWhole(const ExitNode& node) const {
  return node.baseObject < 0 && node.baseNode < 0 && views_[node.index].wholeBuffer;
}

PyObject* ResultBuilder::buildResult(Call& call) const {
  const ExitNode& root = exit_.nodes[0];
  if (root.kind == ExitNode::Kind::kArray && isWhole(root))  // hand over, no reference traffic
    return reinterpret_cast<PyObject*>(std::exchange(call.arrays[views_[root.index].buffer], nullptr));
  Progress progress(exit_.nodes.size());
  return buildNode(call, 0, progress);
}

bool ResultBuilder::leave(Call& call, PyObject** result) const {
  if (late_) program_.run(call.symbols, call.sizes);
  if (!copies_.empty() && !fillCopies(call)) return false;
  if (!exit_.effects.empty() || !exit_.slots.empty() || exit_.end != capture::ExitPlan::kReturn)
    return leaveRegion(call, result);
  *result = buildResult(call);
  return *result != nullptr;
}

/// The objects that effects and slots name are all made first; then nothing fails but for lack of memory.
bool ResultBuilder::leaveRegion(Call& call, PyObject** result) const {
  Progress progress(exit_.nodes.size());
  absl::InlinedVector<Ref, 12> owned;
  auto make = [&](int node) {
    if (node < 0 || progress.made[node]) return true;
    owned.push_back(Ref::steal(buildNode(call, node, progress)));
    return static_cast<bool>(owned.back());
  };
  if (exit_.end == capture::ExitPlan::kReturn && !make(0)) return false;
  absl::Span<const capture::Effect> inOrder(exit_.effects);
  absl::Span<const capture::Effect> fillCells = inOrder.last(exit_.cellsFilled);
  inOrder.remove_suffix(exit_.cellsFilled);
  for (const capture::Effect& effect : inOrder)
    if (!make(effect.target) || !make(effect.key) || !make(effect.value)) return false;
  for (const capture::SlotWrite& write : exit_.slots)
    if (!make(write.node)) return false;
  for (const capture::Effect& effect : fillCells)
    if (!make(effect.target) || !make(effect.value)) return false;

  auto object = [&](int node) { return node < 0 ? nullptr : progress.made[node]; };
  for (const capture::Effect& effect : exit_.effects)
    if (effect.kind == capture::Effect::Kind::kRelease) {
      FW_CHECK(call.locks);
      if (!call.locks->release(static_cast<size_t>(effect.lo))) return false;
    } else if (!applyEffect(effect, object(effect.target), object(effect.key), object(effect.value)))
      return false;
  // What the slots held is let go last: its destructors may run Python code that looks at the frame.
  absl::InlinedVector<Ref, 12> dropped;
  for (const capture::SlotWrite& write : exit_.slots)
    dropped.push_back(Ref::steal(std::exchange(call.slots[write.slot], Py_XNewRef(object(write.node)))));
  if (exit_.end == capture::ExitPlan::kReturn) *result = Py_NewRef(progress.made[0]);
  return true;
}

}  // namespace fw::bindings
