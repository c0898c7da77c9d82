// Values of one fusion group as scalar expressions at the current point of its domain.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/views.h"
#include "kernels/lower_ops.h"
#include "kernels/nest.h"

namespace fw::kernels {

struct AxisStride {
  SymId size, stride;  ///< in bytes
};

/// Where one operand of a member comes from.
struct Operand {
  enum class Kind : uint8_t { kMember, kMemory, kConstant, kSym };
  Kind kind;
  ValueId value;  ///< member, constant or sym node
  MemoryRef memory;
  std::vector<AxisStride> places;  ///< what a gather takes from: its axes of these sizes are gathered
};

class GroupEmitter {
 public:
  GroupEmitter(KernelBuilder& b, const graph::Graph& graph, const graph::Plan& plan, const graph::Group& group);

  /// Resolves the operands and outputs of all members. Must be called first.
  absl::Status collect();

  const std::vector<const MemoryRef*>& refs() const { return refs_; }
  /// Memory of an output, or of any member that has a buffer.
  const MemoryRef& outputRef(ValueId id) const { return outputs_.at(id); }
  bool isOutput(ValueId id) const { return outputs_.contains(id); }
  /// Axes that must not be merged with others: their index is used as a number.
  const IntList& indexAxes() const { return indexAxes_; }
  const graph::Target& target() const { return plan_.target; }
  const Operand& operand(ValueId user, size_t index) const { return operands_.at(user)[index]; }
  bool isMember(ValueId id) const { return group_.axisMap.contains(id); }
  /// Domain axis of every axis of operand `index` of `user`, -1 along axes of size 1.
  IntList operandAxes(ValueId user, size_t index) const;

  // Emission. The current point is set by the loops that are open.
  void setAxes(const std::vector<NestAxis>* axes, std::vector<AxisId> axisOf);
  const std::vector<NestAxis>& axes() const { return *axes_; }
  const std::vector<AxisId>& axisOf() const { return axisOf_; }
  absl::StatusOr<Value> element(ValueId member);
  absl::StatusOr<Value> operandElement(ValueId user, size_t index);
  Value load(const MemoryRef& ref, absl::Span<const Place> places = {});
  void store(const MemoryRef& ref, const Value& v);
  void observe(const Value& v);
  /// Observes what has been computed since the last time, may raise, and is not needed for any of `used`: NumPy
  /// computes it all the same. To be called where `used` is stored or combined.
  void observeUnused(absl::Span<const Val> used);
  /// i64 index along a domain axis.
  Val index(int64_t domainAxis);
  /// Fixes the value of a member for the scopes inside (results of reductions).
  void define(ValueId member, const Value& v) { memo_[member] = v; }
  /// Runs `body`, then forgets what was computed in it.
  void scoped(const std::function<void()>& body);
  /// From now on `member` is read from `ref` instead of computed.
  void readFrom(ValueId member, const MemoryRef& ref) { stored_[member] = &ref; }

 private:
  absl::StatusOr<Operand> resolve(ValueId user, size_t index);
  absl::StatusOr<MemoryRef> memoryOf(ValueId value, const IntList& domainAxes);
  absl::StatusOr<graph::AffineView> viewOf(ValueId value, graph::BufferId buffer) const;
  absl::Status findPlaces(ValueId user, Operand& source) const;
  absl::StatusOr<Value> gathered(ValueId member);
  absl::Status collectOutput(ValueId id);

  KernelBuilder& b_;
  const graph::Graph& graph_;
  const graph::Plan& plan_;
  const graph::Group& group_;
  absl::flat_hash_map<ValueId, std::vector<Operand>> operands_;
  absl::flat_hash_map<ValueId, MemoryRef> outputs_;
  std::vector<const MemoryRef*> refs_;
  IntList indexAxes_;
  const std::vector<NestAxis>* axes_ = nullptr;
  std::vector<AxisId> axisOf_;
  absl::flat_hash_map<ValueId, Value> memo_;
  absl::flat_hash_map<ValueId, const MemoryRef*> stored_;
  std::vector<Val> raising_;  // computed since the last observeUnused()
};

}  // namespace fw::kernels
