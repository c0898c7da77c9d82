// The slow checker: every guard by the plainest means, with a sentence for the one that fails. It is the oracle of the
// stubs in tests and the voice of explain and of recompile messages. Here are its loop, the loading of paths and what a
// pass leaves in the frame; check_objects.cpp and check_arrays.cpp have the kinds.
#include "guards/checker.h"

#include <cstring>
#include <optional>

#include "cpython/objects.h"
#include "guards/access.h"
#include "guards/array_layout.h"

namespace fw::guards {

std::string typeName(PyTypeObject* type) {
  std::string name = type->tp_name;
  size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

std::string constantText(PyObject* object) {
  SourceTable constants;
  return constants.describe(constants.intern(SourceKind::kConst, {}, 0, object), nullptr);
}

PyObject* Checker::load(SourceId id) {
  if (values_[id.index]) return values_[id.index];
  const Source& source = (*set_.sources)[id];
  PyObject* base = nullptr;
  if (source.base.valid() && !(base = load(source.base))) return nullptr;
  std::optional<cpython::AttributeCell> cell;
  if (usesCell(source.kind)) cell.emplace(source.object.get(), source.kind == SourceKind::kDictItem ? source.index : 0);
  PyObject* value = stepTo(source, base, frame_, cell ? &*cell : nullptr);
  if (!value && source.kind == SourceKind::kArg) {
    fail(name(id) + " is not bound");
    return nullptr;
  }
  if (!value) {
    fail(name(id) + " cannot be read" + (base ? " from an object of type " + typeName(Py_TYPE(base)) : ""));
    return nullptr;
  }
  return values_[id.index] = value;
}

bool Checker::bindSymbols() {
  using From = SymbolBinding::From;
  for (int symbol : index_.symbolsOf[guard_]) {
    const SymbolBinding& b = set_.symbols[symbol];
    PyObject* object = load(b.source);
    int64_t fields[4] = {}, &out = frame_.symbols[symbol];
    if (PyRange_Check(object))
      cpython::readRange(object, fields);
    else if (Py_TYPE(object) == &PyRangeIter_Type)
      cpython::readRangeIterator(object, fields);
    else if (cpython::isIndexIterator(Py_TYPE(object)))
      cpython::readIndexIterator(object, fields);
    bool isRange = PyRange_Check(object), isRangeIterator = Py_TYPE(object) == &PyRangeIter_Type;
    switch (b.from) {
      case From::kDim: out = viewOf(object).shape[b.axis]; break;
      case From::kStride: out = viewOf(object).strides[b.axis]; break;
      case From::kAddress: out = reinterpret_cast<int64_t>(viewOf(object).data); break;
      case From::kPyInt: cpython::asInt64(object, &out); break;
      case From::kLength: out = isRange ? fields[3] : cpython::sizeOf(object); break;
      case From::kRangeStart: out = fields[0]; break;
      case From::kRangeStop: out = fields[1]; break;
      case From::kRangeStep: out = isRange ? fields[2] : fields[1]; break;
      case From::kIterIndex: out = fields[0]; break;
      case From::kIterRemaining: out = isRangeIterator ? fields[2] : fields[1]; break;
      case From::kNumber:  // checkNumber
      case From::kCall:
      case From::kTurn: break;
    }
  }
  return true;
}

bool Checker::bindInput(size_t index) {
  if (set_.inputs[index].from == InputBinding::From::kNumber) {
    frame_.buffers[index] = frame_.scalars + 2 * index;
    return true;
  }
  PyObject* object = load(set_.inputs[index].source);
  if (!object) return false;
  uint64_t* words = frame_.scalars + 2 * index;
  frame_.buffers[index] = words;
  switch (set_.inputs[index].from) {
    case InputBinding::From::kArrayData: frame_.buffers[index] = viewOf(object).data; break;
    case InputBinding::From::kPyFloat: std::memcpy(words, &reinterpret_cast<PyFloatObject*>(object)->ob_fval, 8); break;
    case InputBinding::From::kPyInt: cpython::asInt64(object, reinterpret_cast<int64_t*>(words)); break;
    case InputBinding::From::kPyBool: words[0] = object == Py_True; break;
    case InputBinding::From::kPyComplex:
      std::memcpy(words, &reinterpret_cast<PyComplexObject*>(object)->cval, 16);
      break;
    case InputBinding::From::kListOfFloats:
    case InputBinding::From::kListOfInts:
    case InputBinding::From::kListLengths:
    case InputBinding::From::kListStarts:
    case InputBinding::From::kNumber: break;
    case InputBinding::From::kNumpyScalar:
      frame_.buffers[index] = reinterpret_cast<char*>(object) + kNumpyScalarOffset;
      break;
  }
  return true;
}

SlowResult Checker::run() {
  for (guard_ = 0; guard_ < set_.guards.size(); ++guard_)
    if (!check(set_.guards[guard_])) return {Outcome::kFail, static_cast<int>(guard_), reason_};
  int broken = static_cast<int>(set_.guards.size());
  for (size_t i = 0; i < set_.inputs.size(); ++i)
    if (!bindInput(i)) return {Outcome::kFail, broken, reason_};
  for (size_t i = 0; i < set_.objects.size(); ++i) {
    PyObject* object = load(set_.objects[i]);
    if (!object) return {Outcome::kFail, broken, reason_};
    frame_.objects[i] = object;
  }
  return {Outcome::kPass, -1, ""};
}

SlowResult checkSlow(const GuardSet& set, CallFrame& frame) {
  if (absl::Status status = validate(set); !status.ok()) return {Outcome::kError, -1, std::string(status.message())};
  return Checker(set, frame).run();
}

}  // namespace fw::guards
