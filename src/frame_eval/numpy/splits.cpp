// np.split and its relatives: lists of views, each a slice between two points. Points are expressions of the size, so
// that one variant splits arrays of any size; how many parts there are belongs to the variant.
#include "frame_eval/numpy/binding.h"

namespace fw::capture::numpy {
namespace {

constexpr int64_t kMostParts = 256;

Value* intValue(Trace& trace, int64_t v) { return trace.pyInt(trace.syms().constant(v)); }

/// The points between `parts` parts, the first of which are one longer where the size is no multiple; ends included.
std::vector<Value*> evenPoints(Trace& trace, SymId size, int64_t parts, bool mustDivide) {
  graph::SymContext& syms = trace.syms();
  SymId each = syms.floorDiv(size, syms.constant(parts)), longer = syms.constant(0);
  if (!mustDivide) {
    longer = syms.mod(size, syms.constant(parts));
  } else if (!sameSize(trace, syms.mul(each, syms.constant(parts)), size)) {
    raises("array split does not result in an equal division");
  }
  std::vector<Value*> points;
  for (int64_t i = 0; i < parts; ++i) {
    SymId begin = syms.mul(each, syms.constant(i));
    points.push_back(trace.pyInt(syms.canonical(syms.add(begin, syms.min(syms.constant(i), longer)))));
  }
  points.push_back(trace.pyInt(syms.canonical(size)));
  return points;
}

Value* splitAt(Bound& a, Value* where, int axis, bool mustDivide) {
  Trace& trace = a.trace;
  Value* array = arrayValue(trace, a["ary"]);
  SymId size = shapeOf(trace, array->node)[static_cast<size_t>(axis)];
  std::vector<Value*> points;
  if (auto given = sequenceItems(trace, where)) {
    points = {intValue(trace, 0)};
    points.insert(points.end(), given->begin(), given->end());
    points.push_back(trace.pyInt(size));
  } else {
    if (where->kind == ValueKind::kArray) a.refuse("an array of points");
    int64_t parts = knownInt(trace, where);
    if (parts <= 0) raises("number sections must be larger than 0.");
    if (parts > kMostParts) a.refuse("this many parts");
    points = evenPoints(trace, size, parts, mustDivide);
  }
  Value* none = trace.constant(Py_None);
  std::vector<Value*> parts;
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    std::vector<Value*> index(static_cast<size_t>(axis), trace.slice(none, none, none));
    index.push_back(trace.slice(points[i], points[i + 1], none));
    parts.push_back(getItem(trace, array, trace.tuple(std::move(index))));
  }
  return trace.list(std::move(parts));
}

int rankOf(Bound& a) { return a.trace.graph().type(a.array("ary")).rank(); }

Value* splitOn(Bound& a, bool mustDivide) {
  int rank = rankOf(a);
  if (rank == 0) raises("array split of an array without dimensions");
  return splitAt(a, a["indices_or_sections"], a["axis"] ? axisArg(a.trace, a["axis"], rank) : 0, mustDivide);
}

Value* splitFixed(Bound& a, int leastRank, int axis) {
  if (rankOf(a) < leastRank) raises("this split only works on arrays of more dimensions");
  return splitAt(a, a["indices_or_sections"], axis, true);
}

}  // namespace

namespace handlers {

Value* split(Bound& a) { return splitOn(a, true); }
Value* arraySplit(Bound& a) { return splitOn(a, false); }
Value* hsplit(Bound& a) { return splitFixed(a, 1, rankOf(a) > 1 ? 1 : 0); }
Value* vsplit(Bound& a) { return splitFixed(a, 2, 0); }
Value* dsplit(Bound& a) { return splitFixed(a, 3, 2); }

}  // namespace handlers
}  // namespace fw::capture::numpy
