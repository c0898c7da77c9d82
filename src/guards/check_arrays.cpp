// Guards about arrays, sizes and the state of NumPy.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <optional>

#include "guards/access.h"
#include "guards/array_layout.h"
#include "guards/checker.h"
#include "guards/numpy_state.h"
#include "guards/overlap.h"

namespace fw::guards {

namespace {

std::string dtypeName(PyArray_Descr* descr) {
  std::string name = typeName(descr->typeobj);
  if (!PyArray_ISNBO(descr->byteorder)) name = "byte-swapped " + name;
  if (PyDataType_HASFIELDS(descr)) name = "structured " + name;
  if (PyDataType_METADATA(descr)) name += " with metadata";
  return name;
}

}  // namespace

std::optional<ArrayView> Checker::loadArray(SourceId id) {
  PyObject* object = load(id);
  if (!object) return std::nullopt;
  if (Py_TYPE(object) == set_.arrays->type) return viewOf(object);
  fail(name(id) + " is a " + typeName(Py_TYPE(object)) + ", compiled for a " + set_.arrays->typeName);
  return std::nullopt;
}

std::string Checker::symbolsText(graph::SymId id) const { return set_.syms->print(id); }

bool Checker::checkArrayMeta(const Guard& g) {
  const std::optional<ArrayView> array = loadArray(g.source);
  if (!array) return false;
  std::string x = name(g.source);
  if (array->rank != g.meta.rank())
    return fail(x + ".ndim is " + std::to_string(array->rank) + ", compiled for " + std::to_string(g.meta.rank()));
  if (dtypeOf(array->descr) != g.meta.dtype)
    return fail(x + ".dtype is " + dtypeName(array->descr) + ", compiled for " + dtypeName(builtinDescr(g.meta.dtype)));
  if (!array->isAligned()) return fail("the data of " + x + " is not aligned");
  const int device = set_.arrays->device(load(g.source));
  if (device != g.meta.device)
    return fail(x + " is on device " + std::to_string(device) + ", compiled for " + std::to_string(g.meta.device));
  graph::Layout layout = classifyLayout(*array);
  if (!(layout == g.meta.layout))
    return fail("memory layout of " + x + " is " + layout.print() + ", compiled for " + g.meta.layout.print());
  return bindSymbols();
}

bool Checker::checkWriteable(const Guard& g) {
  const std::optional<ArrayView> array = loadArray(g.source);
  return array && (array->isWriteable() || fail(name(g.source) + " is read-only"));
}

bool Checker::checkSymRelation(const Guard& g) {
  if (relationHolds(*set_.syms, g, frame_.symbols)) return true;
  constexpr const char* kRelations[] = {" == ", " != ", " < ", " <= "};
  const std::string text = symbolsText(g.left) + kRelations[static_cast<int>(g.relation)] + symbolsText(g.right);
  // In words of the user: symbols by where they are read, and what they are now.
  std::string now, wanted;
  const auto inName = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && inName(text[end])) ++end;
    const std::string word = text.substr(at, std::max<size_t>(end - at, 1));
    at += word.size();
    const auto symbol = symbolNamed(word);
    wanted += symbol ? symbolSource(*symbol) : word;
    if (!symbol) continue;
    const std::string one = symbolSource(*symbol) + " is " + std::to_string(frame_.symbols[*symbol]);
    if (now.find(one) == std::string::npos) now += (now.empty() ? "" : ", ") + one;
  }
  return fail(now + (now.empty() ? "" : ", ") + "compiled for " + wanted);
}

std::optional<size_t> Checker::symbolNamed(const std::string& word) const {
  for (size_t i = 0; i < set_.symbols.size(); ++i)
    if (set_.syms->print(set_.syms->symbolId(static_cast<int>(i))) == word) return i;
  return std::nullopt;
}

/// "x.shape[0]": where the guards read a symbol.
std::string Checker::symbolSource(size_t symbol) const {
  const SymbolBinding& b = set_.symbols[symbol];
  std::string x = b.source.valid() ? name(b.source) : "a number computed from the arguments";
  if (b.from == SymbolBinding::From::kDim) x += ".shape[" + std::to_string(b.axis) + "]";
  if (b.from == SymbolBinding::From::kStride) x += ".strides[" + std::to_string(b.axis) + "]";
  if (b.from == SymbolBinding::From::kAddress) x += "'s address";
  return x;
}

bool Checker::checkNumber(const Guard& g) {
  std::vector<PyObject*> objects;
  for (SourceId id : g.list) {
    objects.push_back(load(id));
    if (!objects.back()) return false;
  }
  NumberValue value;
  std::string text = g.number->text(*set_.sources, *set_.syms, code_);
  if (!runNumber(*g.number, *set_.syms, objects.data(), frame_.symbols, frame_.scalars, &value)) {
    return fail(text + " cannot be computed as it was when this was compiled");
  }
  if (g.number->type() == NumberType::kBool && (value.i < g.lo || value.i > g.hi)) {
    return fail(text + " is " + (value.i ? "True" : "False") + ", compiled for " + (value.i ? "False" : "True"));
  }
  if (g.number->type() == NumberType::kInt && (value.i < g.lo || value.i > g.hi)) {
    return fail(text + " is " + std::to_string(value.i) + ", compiled for " + std::to_string(g.lo) + " to " +
                std::to_string(g.hi));
  }
  for (int symbol : index_.symbolsOf[guard_]) frame_.symbols[symbol] = value.i;
  if (int input = index_.numberInputOf[guard_]; input >= 0)
    std::memcpy(frame_.scalars + 2 * input, &value, sizeof(value));
  return true;
}

bool Checker::checkNoOverlap(const Guard& g) {
  const std::optional<ArrayView> a = loadArray(g.source), b = a ? loadArray(g.other) : std::nullopt;
  return b && (!mayOverlap(*a, *b) || fail("memory of " + name(g.source) + " and " + name(g.other) + " may overlap"));
}

bool Checker::checkDisjoint(const Guard& g) {
  std::vector<PyObject*> arrays;
  for (SourceId id : g.list) {
    if (!loadArray(id)) return false;
    arrays.push_back(load(id));
  }
  if (areDisjoint(arrays, static_cast<size_t>(g.lo))) return true;
  for (size_t i = 0; i < static_cast<size_t>(g.lo); ++i)
    for (size_t j = i + 1; j < arrays.size(); ++j)
      if (mayOverlap(viewOf(arrays[i]), viewOf(arrays[j])))
        return fail("memory of " + name(g.list[i]) + " and " + name(g.list[j]) + " may overlap");
  return fail("the memory of too many arrays is interleaved");
}

bool Checker::checkGlobalState(const Guard& g) {
  uint64_t now = 0;
  std::memcpy(&now, reinterpret_cast<const void*>(g.lo), sizeof(now));
  return now == static_cast<uint64_t>(g.hi) || fail("global state (number of threads, settings ...) has changed");
}

bool Checker::checkNumpyErrors(const Guard& g) {
  return numpyErrorToken() == g.lo || fail("np.errstate or NumPy's buffer size has changed");
}

}  // namespace fw::guards
