// Frame of a stub and its life: emitted into a scratch buffer, copied into the arena, given back on destruction.
#include "guards/stub.h"

#include <algorithm>
#include <map>

#include "graph/support/check.h"
#include "guards/arena.h"
#include "guards/emitter.h"

namespace fw::guards {

namespace {
constexpr int kPage = 4096, kMaxFrameBytes = 1 << 18;
constexpr int kLargeSet = 32;  // guards
}  // namespace

Emitter::Emitter(const GuardSet& set, void* buffer, size_t bytes)
    : Xbyak::CodeGenerator(bytes, buffer),
      set_(set),
      index_(set) {
  size_t sources = set.sources->size(), exits = set.guards.size() + 1;
  setDefaultJmpNEAR(true);
  spilled_.resize(sources);
  types_.resize(sources);
  present_.resize(sources);
  isType_.resize(sources);
  lengths_.resize(sources);
  stored_.resize(sources);
  fails_.resize(exits);
  failed_.resize(exits);
  pinPointers();
  assignSlots();
}

void Emitter::pinPointers() {
  if (set_.guards.size() < kLargeSet) return;
  std::map<const void*, int> uses;
  for (const Guard& g : set_.guards) {
    if (g.kind == GuardKind::kType) ++uses[g.object.get()];
    if (g.kind == GuardKind::kIntRange) ++uses[&PyLong_Type];
    if (g.kind != GuardKind::kArrayMeta) continue;
    ++uses[set_.arrays->type];
    ++uses[builtinDescr(g.meta.dtype)];
  }
  std::vector<std::pair<int, const void*>> ranked;
  for (auto [pointer, count] : uses)
    if (count >= kLargeSet / 4) ranked.push_back({count, pointer});
  std::sort(ranked.rbegin(), ranked.rend());
  const Xbyak::Reg64 registers[] = {rbx, rbp, r12, r13, r14, r15};
  for (size_t i = 0; i < ranked.size() && i < std::size(registers); ++i)
    pinned_.push_back({ranked[i].second, registers[i]});
}

void Emitter::assignSlots() {
  std::vector<int> uses(set_.sources->size());
  // A base is stepped from whenever something below it is loaded; guards of two objects load each twice.
  for (size_t i = 0; i < uses.size(); ++i)
    if (SourceId base = (*set_.sources)[SourceId(i)].base; base.valid()) ++uses[base.index];
  size_t listed = 0;
  for (const Guard& g : set_.guards) {
    forEachSource(g, [&](SourceId id) { uses[id.index] += g.other.valid() || g.kind == GuardKind::kNumber ? 2 : 1; });
    listed = std::max(listed, g.list.size());
  }
  for (const InputBinding& input : set_.inputs)
    if (input.source.valid()) ++uses[input.source.index];
  for (SourceId object : set_.objects) ++uses[object.index];
  slots_.assign(uses.size(), -1);
  int end = kSources;
  for (size_t i = 0; i < uses.size(); ++i) {
    SourceKind kind = (*set_.sources)[SourceId(i)].kind;
    bool isAtHand = kind == SourceKind::kArg || kind == SourceKind::kFunction || kind == SourceKind::kConst;
    if (uses[i] < 2 || isAtHand) continue;
    slots_[i] = end;
    end += 8;
  }
  savedOffset_ = end;
  listOffset_ = end += 8 * static_cast<int>(pinned_.size());
  // rsp is 8 below a multiple of 16 on entry and must be a multiple of 16 at calls.
  frameBytes_ = (end + 8 * static_cast<int>(listed) + 15) / 16 * 16 + 8;
}

void Emitter::callAddress(const void* fn) {
  mov(rax, reinterpret_cast<uint64_t>(fn));
  call(rax);
  mov(rdi, ptr[rsp + kFrame]);
  mov(rsi, ptr[rdi + offsetof(CallFrame, args)]);
  mov(r8, ptr[rdi + offsetof(CallFrame, symbols)]);
}

void Emitter::emitGuard(const Guard& g) {
  switch (g.kind) {
#define FW_GUARD(Id, text, cost, cure) \
  case GuardKind::k##Id: return emit##Id(g);
#include "guards/guard_kinds.def"
  }
  FW_UNREACHABLE();
}

void Emitter::emitAll() {
  // Every page on the way is touched, so that a stack too small for a large set ends at its guard page.
  for (int offset = kPage; offset < frameBytes_; offset += kPage) test(dword[rsp - offset], eax);
  sub(rsp, frameBytes_);
  for (size_t i = 0; i < pinned_.size(); ++i) {
    mov(ptr[rsp + savedOffset_ + 8 * i], pinned_[i].second);
    loadPointer(pinned_[i].second, pinned_[i].first);
  }
  mov(ptr[rsp + kFrame], rdi);
  mov(rsi, ptr[rdi + offsetof(CallFrame, args)]);
  mov(r8, ptr[rdi + offsetof(CallFrame, symbols)]);
  for (guard_ = 0; guard_ < set_.guards.size(); ++guard_) emitGuard(set_.guards[guard_]);
  bindInputs();
  bindObjects();
  Xbyak::Label exit;
  xor_(eax, eax);
  L(exit);
  for (size_t i = 0; i < pinned_.size(); ++i) mov(pinned_[i].second, ptr[rsp + savedOffset_ + 8 * i]);
  add(rsp, frameBytes_);
  ret();
  for (size_t i = 0; i < slowPaths_.size(); ++i) {
    guard_ = slowPaths_[i].first;
    slowPaths_[i].second();
  }
  for (size_t i = 0; i < fails_.size(); ++i) {
    if (!failed_[i]) continue;
    L(fails_[i]);
    mov(eax, static_cast<uint32_t>(i + 1));
    jmp(exit);
  }
}

namespace {

class ArenaStub final : public Stub {
 public:
  ArenaStub(std::shared_ptr<const GuardSet> set, std::vector<std::unique_ptr<cpython::AttributeCell>> cells,
            const void* code, size_t size)
      : set_(std::move(set)),
        cells_(std::move(cells)),
        code_(code),
        size_(size) {}
  ~ArenaStub() override { CodeArena::process().release(code_); }
  StubFn entry() const override { return reinterpret_cast<StubFn>(reinterpret_cast<uintptr_t>(code_)); }
  size_t codeSize() const override { return size_; }

 private:
  std::shared_ptr<const GuardSet> set_;
  std::vector<std::unique_ptr<cpython::AttributeCell>> cells_;
  const void* code_;
  size_t size_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Stub>> emitStub(std::shared_ptr<const GuardSet> set) {
  if (absl::Status status = validate(*set); !status.ok()) return status;
  size_t pieces =
      set->guards.size() + set->symbols.size() + set->inputs.size() + set->objects.size() + set->sources->size();
  std::vector<uint8_t> buffer(512 + 160 * pieces);
  while (true) {
    try {
      Emitter emitter(*set, buffer.data(), buffer.size());
      if (emitter.frameBytes() > kMaxFrameBytes)
        return absl::ResourceExhaustedError("guard stub: too many objects to keep track of");
      emitter.emitAll();
      absl::StatusOr<const void*> code = CodeArena::process().publish({buffer.data(), emitter.getSize()});
      if (!code.ok()) return code.status();
      return std::make_unique<ArenaStub>(std::move(set), emitter.takeCells(), *code, emitter.getSize());
    } catch (const Xbyak::Error& error) {
      if (static_cast<int>(error) != Xbyak::ERR_CODE_IS_TOO_BIG || buffer.size() > (size_t{16} << 20))
        return absl::ResourceExhaustedError(std::string("guard stub: ") + error.what());
      buffer.resize(buffer.size() * 2);
    }
  }
}

}  // namespace fw::guards
