// The text of one device function under construction: lines, parameters, and the scalar code of blocks.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/symint.h"
#include "kernels/cuda/emit.h"

namespace fw::kernels::cuda {

class Writer {
 public:
  Writer(const Kernel& kernel, const graph::SymContext& syms, bool wide)
      : kernel_(kernel),
        syms_(syms),
        index_(wide ? "i64" : "i32"),
        wide_(wide) {}

  const Kernel& kernel() const { return kernel_; }
  const graph::SymContext& syms() const { return syms_; }
  /// Type of indices.
  const std::string& index() const { return index_; }

  void line(const std::string& text);
  /// `text` and an opening brace; what follows is indented until close().
  void open(const std::string& text);
  void close();
  void unrolled(int lanes) {
    line("#pragma unroll");
    open("for (int l = 0; l < " + std::to_string(lanes) + "; ++l)");
  }

  /// Names of fields of the parameters.
  std::string field(Parameter parameter);
  std::string number(SymId sym);
  std::string divisor(SymId sym);

  /// "x<axis>" of each axis of the nest from a flat index.
  void decode(const Nest& nest, const std::string& flat);
  /// Where element [axes...] of an access lies.
  std::string address(uint32_t access);
  std::string value(ExprId id) const;

  /// Scalar code, in the order of the text; one thread runs inner loops by itself.
  void block(const std::vector<Item>& items);
  void item(const Item& item);
  void expression(ExprId id);
  /// What is known already, of a load or of any other expression, as `text` in the register type.
  void preload(ExprId id, std::string text) { preloaded_[id] = std::move(text); }
  /// A store that goes to `target` for now.
  void divert(StmtId store, std::string target) { diverted_[store] = std::move(target); }

  static std::string loadFrom(DType d, const std::string& address);
  void storeTo(DType d, const std::string& address, const std::string& value);

  static std::string result(StmtId reduce, size_t i);
  void declareResults(StmtId reduce);
  void accumulate(StmtId reduce);
  std::string combined(const Accumulator& a, const std::string& x, const std::string& y);

  /// The text has shared memory whose size the launch says.
  void sharesBySize() { sharesBySize_ = true; }
  absl::Status status() const { return status_; }
  /// The finished source; `bounds` says how many threads a block has at most.
  absl::StatusOr<Source> finish(const std::string& bounds) &&;

 private:
  std::string quotient(const Expr& e) const;
  void statement(StmtId id);
  void sequential(StmtId id);

  const Kernel& kernel_;
  const graph::SymContext& syms_;
  const std::string index_;
  const bool wide_;
  std::string text_;
  int depth_ = 1;
  std::vector<Parameter> parameters_;
  absl::flat_hash_map<std::string, int> fields_;
  absl::flat_hash_map<ExprId, std::string> preloaded_;
  absl::flat_hash_map<StmtId, std::string> diverted_;
  bool sharesBySize_ = false;
  absl::Status status_;
};

}  // namespace fw::kernels::cuda
