// The slow checker: every guard by the plainest means, with a sentence for the one that fails. It is the oracle of the
// stubs in tests and the voice of explain and of recompile messages. One check##Id per row of guard_kinds.def.
#include <cstring>
#include <optional>

#include "cpython/objects.h"
#include "guards/access.h"
#include "guards/array_layout.h"

namespace fw::guards {

namespace {

std::string typeName(PyTypeObject* type) {
  std::string name = type->tp_name;
  size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

std::string dtypeName(PyArray_Descr* descr) {
  std::string name = typeName(descr->typeobj);
  if (!PyArray_ISNBO(descr->byteorder)) name = "byte-swapped " + name;
  if (PyDataType_HASFIELDS(descr)) name = "structured " + name;
  if (PyDataType_METADATA(descr)) name += " with metadata";
  return name;
}

std::string sizeText(int64_t value) { return std::to_string(value); }

class Checker {
 public:
  Checker(const GuardSet& set, CallFrame& frame)
      : set_(set), frame_(frame), values_(set.sources->size()), loaded_(set.sources->size()) {
    if (frame.function && PyFunction_Check(frame.function)) code_ = PyFunction_GET_CODE(frame.function);
  }

  SlowResult run();

 private:
#define FW_GUARD(Id, text, cost) bool check##Id(const Guard& g);
#include "guards/guard_kinds.def"

  bool check(const Guard& g) {
    switch (g.kind) {
#define FW_GUARD(Id, text, cost) \
  case GuardKind::k##Id: return check##Id(g);
#include "guards/guard_kinds.def"
    }
    return fail("unknown guard");
  }

  std::string name(SourceId id) const { return set_.sources->describe(id, code_); }
  bool fail(std::string reason) { reason_ = std::move(reason); return false; }

  /// Object of a source; nullptr with a reason if its path is broken.
  PyObject* load(SourceId id);
  PyArrayObject* loadArray(SourceId id);
  bool bindSymbols(SourceId source, GuardKind by);
  bool bindInput(size_t index);
  std::string constantText(PyObject* object) const {
    SourceTable constants;
    return constants.describe(constants.intern(SourceKind::kConst, {}, 0, object), nullptr);
  }
  std::string symbolsText(graph::SymId id) const;

  const GuardSet& set_;
  CallFrame& frame_;
  PyObject* code_ = nullptr;
  std::vector<PyObject*> values_;
  std::vector<bool> loaded_;
  std::string reason_;
};

PyObject* Checker::load(SourceId id) {
  if (loaded_[id.index]) return values_[id.index];
  const Source& source = (*set_.sources)[id];
  PyObject* base = nullptr;
  if (source.base.valid() && !(base = load(source.base))) return nullptr;
  std::optional<cpython::AttributeCell> cell;
  if (usesCell(source.kind)) cell.emplace(source.object.get());
  PyObject* value = stepTo(source, base, frame_, cell ? &*cell : nullptr);
  if (!value) {
    fail(name(id) + " cannot be read" + (base ? " from an object of type " + typeName(Py_TYPE(base)) : ""));
    return nullptr;
  }
  loaded_[id.index] = true;
  return values_[id.index] = value;
}

PyArrayObject* Checker::loadArray(SourceId id) {
  PyObject* object = load(id);
  if (!object) return nullptr;
  if (Py_TYPE(object) == &PyArray_Type) return reinterpret_cast<PyArrayObject*>(object);
  fail(name(id) + " is a " + typeName(Py_TYPE(object)) + ", compiled for a numpy.ndarray");
  return nullptr;
}

std::string Checker::symbolsText(graph::SymId id) const { return set_.syms->print(id); }

bool Checker::checkIdentity(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  return object == g.object.get() || fail(name(g.source) + " is another object than when compiled (" + constantText(g.object.get()) + ")");
}

bool Checker::checkType(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == g.object.get() ||
         fail(name(g.source) + " is a " + typeName(Py_TYPE(object)) + ", compiled for " + constantText(g.object.get()));
}

bool Checker::checkEquals(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  if (equalsExact(object, g.object.get())) return true;
  std::string now = isEqualsConstant(object) && !PyTuple_CheckExact(object) ? constantText(object) : "a " + typeName(Py_TYPE(object));
  return fail(name(g.source) + " is " + now + ", compiled for " + constantText(g.object.get()));
}

bool Checker::checkIntRange(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  if (Py_TYPE(object) != &PyLong_Type)
    return fail(name(g.source) + " is a " + typeName(Py_TYPE(object)) + ", compiled for int");
  int64_t value = 0;
  if (!cpython::asInt64(object, &value)) return fail(name(g.source) + " does not fit into 64 bits");
  if (value < g.lo || value > g.hi)
    return fail(name(g.source) + " is " + sizeText(value) + ", compiled for " + sizeText(g.lo) + " to " + sizeText(g.hi));
  return bindSymbols(g.source, g.kind);
}

bool Checker::checkLength(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object))
    return fail(name(g.source) + " is a " + typeName(Py_TYPE(object)) + ", compiled for a tuple or list");
  return Py_SIZE(object) == g.lo ||
         fail("len(" + name(g.source) + ") is " + sizeText(Py_SIZE(object)) + ", compiled for " + sizeText(g.lo));
}

bool Checker::checkDictKeys(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  return cpython::dictHasKeys(object, g.object.get()) || fail(name(g.source) + " has other keys than when compiled");
}

bool Checker::checkDictContains(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  cpython::AttributeCell cell(g.object.get());
  return cpython::dictItem(object, cell).state == cpython::LookupState::kFound ||
         fail(name(g.source) + " has no key " + constantText(g.object.get()));
}

bool Checker::checkDictNotContains(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  cpython::AttributeCell cell(g.object.get());
  return cpython::dictItem(object, cell).state == cpython::LookupState::kAbsent ||
         fail(name(g.source) + " has a key " + constantText(g.object.get()) + " now");
}

bool Checker::checkNoInstanceAttr(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  cpython::AttributeCell cell(g.object.get());
  return cpython::instanceDictItem(object, cell).state == cpython::LookupState::kAbsent ||
         fail(name(g.source) + " has an instance attribute " + constantText(g.object.get()) + " now");
}

bool Checker::checkTypeVersion(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  if (!PyType_Check(object)) return fail(name(g.source) + " is not a type");
  return reinterpret_cast<PyTypeObject*>(object)->tp_version_tag == static_cast<uint64_t>(g.lo) ||
         fail("attributes of " + name(g.source) + " have changed since it was compiled");
}

bool Checker::checkFunctionCode(const Guard& g) {
  PyObject* object = load(g.source);
  if (!object) return false;
  if (!PyFunction_Check(object)) return fail(name(g.source) + " is a " + typeName(Py_TYPE(object)) + ", compiled for a function");
  return PyFunction_GET_CODE(object) == g.object.get() || fail(name(g.source) + " is another function than when compiled");
}

bool Checker::checkArrayMeta(const Guard& g) {
  PyArrayObject* array = loadArray(g.source);
  if (!array) return false;
  std::string x = name(g.source);
  if (PyArray_NDIM(array) != g.meta.rank())
    return fail(x + ".ndim is " + sizeText(PyArray_NDIM(array)) + ", compiled for " + sizeText(g.meta.rank()));
  if (dtypeOf(PyArray_DESCR(array)) != g.meta.dtype)
    return fail(x + ".dtype is " + dtypeName(PyArray_DESCR(array)) + ", compiled for " + dtypeName(builtinDescr(g.meta.dtype)));
  if (!PyArray_ISALIGNED(array)) return fail("the data of " + x + " is not aligned");
  graph::Layout layout = classifyLayout(array);
  if (!(layout == g.meta.layout))
    return fail("memory layout of " + x + " is " + layout.print() + ", compiled for " + g.meta.layout.print());
  return bindSymbols(g.source, g.kind);
}

bool Checker::checkWriteable(const Guard& g) {
  PyArrayObject* array = loadArray(g.source);
  return array && (PyArray_ISWRITEABLE(array) || fail(name(g.source) + " is read-only"));
}

bool Checker::checkSymRelation(const Guard& g) {
  if (relationHolds(*set_.syms, g, frame_.symbols)) return true;
  constexpr const char* kRelations[] = {" == ", " != ", " < ", " <= "};
  std::string where;
  for (size_t i = 0; i < set_.symbols.size(); ++i) {
    const SymbolBinding& b = set_.symbols[i];
    std::string symbol = set_.syms->print(set_.syms->symbolId(static_cast<int>(i)));
    std::string text = symbolsText(g.left) + kRelations[static_cast<int>(g.relation)] + symbolsText(g.right);
    size_t at = text.find(symbol);
    bool used = at != std::string::npos && (at + symbol.size() == text.size() || !std::isdigit(text[at + symbol.size()]));
    if (!used) continue;
    std::string x = name(b.source);
    if (b.from == SymbolBinding::From::kDim) x += ".shape[" + std::to_string(b.axis) + "]";
    if (b.from == SymbolBinding::From::kStride) x += ".strides[" + std::to_string(b.axis) + "]";
    where += (where.empty() ? "; " : ", ") + symbol + " = " + x + " = " + sizeText(frame_.symbols[i]);
  }
  return fail("compiled for " + symbolsText(g.left) + kRelations[static_cast<int>(g.relation)] + symbolsText(g.right) + where);
}

bool Checker::checkNotSameObject(const Guard& g) {
  PyObject* a = load(g.source);
  PyObject* b = a ? load(g.other) : nullptr;
  return b && (a != b || fail(name(g.source) + " and " + name(g.other) + " are the same object"));
}

bool Checker::checkNoOverlap(const Guard& g) {
  PyArrayObject* a = loadArray(g.source);
  PyArrayObject* b = a ? loadArray(g.other) : nullptr;
  return b && (!mayOverlap(a, b) || fail("memory of " + name(g.source) + " and " + name(g.other) + " may overlap"));
}

bool Checker::checkGlobalState(const Guard& g) {
  uint64_t now = 0;
  std::memcpy(&now, reinterpret_cast<const void*>(g.lo), sizeof(now));
  return now == static_cast<uint64_t>(g.hi) || fail("NumPy's global state (errstate, print options ...) has changed");
}

bool Checker::bindSymbols(SourceId source, GuardKind by) {
  for (size_t i = 0; i < set_.symbols.size(); ++i) {
    const SymbolBinding& b = set_.symbols[i];
    bool isInt = b.from == SymbolBinding::From::kPyInt;
    if (b.source != source || isInt != (by == GuardKind::kIntRange)) continue;
    auto* array = reinterpret_cast<PyArrayObject*>(load(source));
    switch (b.from) {
      case SymbolBinding::From::kDim: frame_.symbols[i] = PyArray_DIM(array, b.axis); break;
      case SymbolBinding::From::kStride: frame_.symbols[i] = PyArray_STRIDE(array, b.axis); break;
      case SymbolBinding::From::kPyInt: cpython::asInt64(load(source), &frame_.symbols[i]); break;
    }
  }
  return true;
}

bool Checker::bindInput(size_t index) {
  PyObject* object = load(set_.inputs[index].source);
  if (!object) return false;
  uint64_t* words = frame_.scalars + 2 * index;
  frame_.buffers[index] = words;
  switch (set_.inputs[index].from) {
    case InputBinding::From::kArrayData: frame_.buffers[index] = PyArray_DATA(reinterpret_cast<PyArrayObject*>(object)); break;
    case InputBinding::From::kPyFloat: std::memcpy(words, &reinterpret_cast<PyFloatObject*>(object)->ob_fval, 8); break;
    case InputBinding::From::kPyInt: cpython::asInt64(object, reinterpret_cast<int64_t*>(words)); break;
    case InputBinding::From::kPyBool: words[0] = object == Py_True; break;
    case InputBinding::From::kPyComplex: std::memcpy(words, &reinterpret_cast<PyComplexObject*>(object)->cval, 16); break;
    case InputBinding::From::kNumpyScalar: frame_.buffers[index] = reinterpret_cast<char*>(object) + kNumpyScalarOffset; break;
  }
  return true;
}

SlowResult Checker::run() {
  for (size_t i = 0; i < set_.guards.size(); ++i)
    if (!check(set_.guards[i])) return {Outcome::kFail, static_cast<int>(i), reason_};
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

}  // namespace

SlowResult checkSlow(const GuardSet& set, CallFrame& frame) {
  if (absl::Status status = validate(set); !status.ok()) return {Outcome::kError, -1, std::string(status.message())};
  return Checker(set, frame).run();
}

}  // namespace fw::guards
