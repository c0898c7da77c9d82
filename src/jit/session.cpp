// The LLVM session.
//
// Compiler: an IRCompiler whose code generation pipeline is built once and run again for every module. It is LLVM's own
// pipeline less the parts that do not pay for explicit vector code: no IR passes (loop strength reduction alone doubles
// the time), and a list of machine passes switched off. Set-up of the pipeline costs as much as a small kernel,
// hence the reuse, by one thread at a time. Branches are folded and blocks placed: that takes 1 % of the time, and
// loops over numbers run up to twice as fast. Code generation cannot be left half-way, but what comes after the
// deadline can be nothing: see Cutoff. The object goes to one memory stream that is emptied between modules.
//
// Linker: ORC's ExecutionSession with JITLink. Measured at about 0.03 to 0.2 ms per object, small beside code
// generation. Each object has a library of its own, which is removed when its last owner dies: equal code may be linked
// anew while an older copy is still on its way out. What code calls stands in one library of absolute symbols
// (runtime.h). JITLink maps code read-execute after writing it, never both at once.
#include "jit/session.h"

#include "absl/strings/str_cat.h"
#include "graph/support/check.h"
#include "graph/support/stopwatch.h"
#include "jit/optimize.h"
#include "jit/profilers.h"
#include "jit/runtime.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/CodeGenTargetMachineImpl.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "runtime/background.h"

namespace fw::jit {

namespace {

/// Of objects that are kept.
constexpr size_t kObjectBytes = size_t{32} << 20;

absl::Status toStatus(llvm::Error error) { return absl::InternalError(llvm::toString(std::move(error))); }

// LLVM is linked statically with hidden symbols, so these switches are ours alone although they are global variables.
void setCodegenSwitches() {
  const char* const switches[] = {"fusewire",
                                  "-disable-lsr",
                                  "-enable-misched=false",
                                  "-disable-machine-sink",
                                  "-disable-machine-cse",
                                  "-disable-tail-duplicate",
                                  "-disable-early-taildup",
                                  "-disable-copyprop",
                                  "-disable-early-ifcvt",
                                  "-disable-post-ra",
                                  "-disable-ssc",
                                  "-x86-cmov-converter=false"};
  std::string text;
  llvm::raw_string_ostream errors(text);
  // A name unknown to this LLVM only costs compile time, so it is not an error.
  llvm::cl::ParseCommandLineOptions(std::size(switches), switches, "", &errors);
}

std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const TargetSpec& spec, int optLevel) {
  const llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  FW_CHECK_MSG(target != nullptr, error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, spec.cpu, spec.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      optLevel > 0 ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None, /*JIT=*/true));
  FW_CHECK(machine != nullptr);
  return machine;
}

// Instruction selection without the IR passes before it is a protected member of LLVM's pipeline; a pointer to member
// taken from a derived class may name it.
struct CoreIsel : llvm::TargetPassConfig {
  static bool add(llvm::TargetPassConfig* config) { return (config->*(&CoreIsel::addCoreISelPasses))(); }
};

int isaIndex(CompileOptions::Isa isa) {
  switch (isa) {
    case CompileOptions::Isa::kHost: break;
    case CompileOptions::Isa::kAvx512: return 0;
    case CompileOptions::Isa::kAvx2: return 1;
    case CompileOptions::Isa::kPortable: return 2;
  }
  FW_UNREACHABLE();
}

size_t textBytes(const llvm::MemoryBuffer& object) {
  auto file = llvm::object::ObjectFile::createObjectFile(object.getMemBufferRef());
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  size_t bytes = 0;
  for (const llvm::object::SectionRef& section : (*file)->sections()) {
    if (section.isText()) bytes += section.getSize();
  }
  return bytes;
}

/// The first pass of the pipeline. Once the deadline is over, it empties every function, so that the rest takes no
/// time; the object is thrown away.
class Cutoff : public llvm::FunctionPass {
 public:
  Cutoff() : FunctionPass(kId) {}
  void begin(const Deadline& deadline) {
    deadline_ = deadline;
    cut_ = false;
  }
  bool hasCut() const { return cut_; }

  bool runOnFunction(llvm::Function& function) override {
    if (!cut_ && !deadline_.isOver() && !runtime::isEnding()) return false;
    cut_ = true;
    const auto linkage = function.getLinkage();  // which deleteBody() makes that of a declaration
    function.deleteBody();
    function.setLinkage(linkage);
    llvm::LLVMContext& context = function.getContext();
    new llvm::UnreachableInst(context, llvm::BasicBlock::Create(context, "", &function));
    return true;
  }
  llvm::StringRef getPassName() const override { return "Deadline of code generation"; }

 private:
  static inline char kId = 0;  // its address is what LLVM knows the pass by
  Deadline deadline_;
  bool cut_ = false;
};

}  // namespace

class Session::Compiler : public llvm::orc::IRCompileLayer::IRCompiler {
 public:
  Compiler(const TargetSpec& spec, int optLevel)
      : IRCompiler(llvm::orc::IRSymbolMapper::ManglingOptions{}),
        machine_(makeTargetMachine(spec, optLevel)),
        layout_(machine_->createDataLayout()) {
    buildPipeline();
  }

  const llvm::DataLayout& layout() const { return layout_; }
  const llvm::Triple& triple() const { return machine_->getTargetTriple(); }
  llvm::TargetMachine& machine() { return *machine_; }

  void limit(const Deadline& deadline) { cutoff_->begin(deadline); }
  /// Whether functions of the last module are empty because the deadline was over.
  bool hasCut() const { return cutoff_->hasCut(); }

  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> operator()(llvm::Module& module) override {
    buffer_.clear();
    passes_.run(module);
    return std::make_unique<llvm::SmallVectorMemoryBuffer>(llvm::SmallVector<char, 0>(buffer_), "kernel",
                                                           /*RequiresNullTerminator=*/false);
  }

 private:
  void buildPipeline() {
    auto* info = new llvm::MachineModuleInfoWrapperPass(machine_.get());
    auto& machine = static_cast<llvm::CodeGenTargetMachineImpl&>(*machine_);
    llvm::TargetPassConfig* config = machine.createPassConfig(passes_);
    config->setDisableVerify(true);
    passes_.add(config);
    passes_.add(info);
    passes_.add(cutoff_);
    FW_CHECK(!CoreIsel::add(config));
    config->addMachinePasses();
    config->setInitialized();

    const llvm::Target& target = machine_->getTarget();
    const llvm::MCSubtargetInfo& subtarget = *machine_->getMCSubtargetInfo();
    llvm::MCContext& context = info->getMMI().getContext();
    std::unique_ptr<llvm::MCCodeEmitter> emitter(target.createMCCodeEmitter(*machine_->getMCInstrInfo(), context));
    std::unique_ptr<llvm::MCAsmBackend> backend(
        target.createMCAsmBackend(subtarget, *machine_->getMCRegisterInfo(), machine_->Options.MCOptions));
    auto writer = backend->createObjectWriter(stream_);
    std::unique_ptr<llvm::MCStreamer> streamer(target.createMCObjectStreamer(
        machine_->getTargetTriple(), context, std::move(backend), std::move(writer), std::move(emitter), subtarget));
    passes_.add(target.createAsmPrinter(*machine_, std::move(streamer)));
    passes_.add(llvm::createFreeMachineFunctionPass());
  }

  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::DataLayout layout_;
  llvm::SmallVector<char, 0> buffer_;
  llvm::raw_svector_ostream stream_{buffer_};
  Cutoff* const cutoff_ = new Cutoff;  // owned by passes_
  llvm::legacy::PassManager passes_;   // destroyed before what it writes to
};

namespace {

class LinkedCode : public LoadedCode {
 public:
  LinkedCode(llvm::orc::JITDylibSP library, std::vector<void*> entries, size_t bytes,
             std::vector<CodeFunction> functions)
      : library_(std::move(library)),
        entries_(std::move(entries)),
        bytes_(bytes),
        functions_(std::move(functions)) {}
  // Removal takes ORC's own lock, not the session's mutex: a finalizer may run while another thread compiles.
  ~LinkedCode() override { llvm::consumeError(library_->getExecutionSession().removeJITDylib(*library_)); }
  void* entry(size_t i) const override { return entries_.at(i); }
  size_t codeSize() const override { return bytes_; }
  std::vector<CodeFunction> functions() const override { return functions_; }

 private:
  llvm::orc::JITDylibSP library_;
  std::vector<void*> entries_;
  size_t bytes_;
  std::vector<CodeFunction> functions_;
};

/// Listens to where functions of an object come to lie, those with internal linkage too.
class FunctionPlaces : public llvm::orc::ObjectLinkingLayer::Plugin {
 public:
  void modifyPassConfig(llvm::orc::MaterializationResponsibility&, llvm::jitlink::LinkGraph&,
                        llvm::jitlink::PassConfiguration& config) override {
    // Calls inside of an object need no symbol, without which loops would have no name.
    config.PrePrunePasses.push_back([](llvm::jitlink::LinkGraph& graph) {
      for (llvm::jitlink::Symbol* symbol : graph.defined_symbols())
        if (symbol->isCallable()) symbol->setLive(true);
      return llvm::Error::success();
    });
    config.PostFixupPasses.push_back([this](llvm::jitlink::LinkGraph& graph) {
      for (const llvm::jitlink::Symbol* symbol : graph.defined_symbols())
        if (symbol->isCallable() && symbol->hasName())
          seen_.push_back({(*symbol->getName()).str(), symbol->getAddress().toPtr<const char*>(), symbol->getSize()});
      return llvm::Error::success();
    });
  }
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility&) override { return llvm::Error::success(); }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey, llvm::orc::ResourceKey) override {}

  /// Since it was asked last, without the name of the first entry.
  std::vector<CodeFunction> take(const std::string& entry) {
    for (CodeFunction& one : seen_)
      if (one.name.starts_with(entry)) one.name.erase(0, entry.size());
    return std::exchange(seen_, {});
  }

 private:
  std::vector<CodeFunction> seen_;
};

}  // namespace

class Session::Linker {
 public:
  Linker() {
    auto control = llvm::orc::SelfExecutorProcessControl::Create();
    FW_CHECK_MSG(static_cast<bool>(control), llvm::toString(control.takeError()));
    session_ = std::make_unique<llvm::orc::ExecutionSession>(std::move(*control));
    // Failures come back as the look-up's own error; without this they would be printed as well.
    session_->setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
    layer_ = std::make_unique<llvm::orc::ObjectLinkingLayer>(*session_);
    if (areProfilersOpen()) layer_->addPlugin(places_ = std::make_shared<FunctionPlaces>());
    runtime_ = &session_->createBareJITDylib("runtime");
    llvm::orc::SymbolMap symbols;
    for (const RuntimeSymbol& symbol : runtimeSymbols())
      symbols[session_->intern(symbol.name)] = {llvm::orc::ExecutorAddr::fromPtr(symbol.address),
                                                llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    llvm::cantFail(runtime_->define(llvm::orc::absoluteSymbols(std::move(symbols))));
  }

  absl::StatusOr<std::shared_ptr<const LoadedCode>> link(std::unique_ptr<llvm::MemoryBuffer> object,
                                                         const std::vector<std::string>& entries);

 private:
  std::unique_ptr<llvm::orc::ExecutionSession> session_;
  std::unique_ptr<llvm::orc::ObjectLinkingLayer> layer_;
  llvm::orc::JITDylib* runtime_ = nullptr;
  std::shared_ptr<FunctionPlaces> places_;  ///< null: nobody asks
  uint64_t objects_ = 0;
};

absl::StatusOr<std::shared_ptr<const LoadedCode>> Session::Linker::link(std::unique_ptr<llvm::MemoryBuffer> object,
                                                                        const std::vector<std::string>& entries) {
  const size_t bytes = textBytes(*object);
  llvm::orc::JITDylib& library = session_->createBareJITDylib("object" + std::to_string(objects_++));
  library.addToLinkOrder(*runtime_);
  const auto failed = [&](llvm::Error error) {
    llvm::consumeError(session_->removeJITDylib(library));
    return toStatus(std::move(error));
  };
  if (auto error = layer_->add(library, std::move(object))) return failed(std::move(error));
  std::vector<void*> addresses;
  for (const std::string& entry : entries) {
    auto symbol = session_->lookup({&library}, session_->intern(entry));
    if (!symbol) return failed(symbol.takeError());
    addresses.push_back(symbol->getAddress().toPtr<void*>());
  }
  return std::make_shared<LinkedCode>(&library, std::move(addresses), bytes,
                                      places_ ? places_->take(entries[0]) : std::vector<CodeFunction>());
}

Session& Session::instance() {
  // Never destroyed: executables may outlive every other static object.
  static Session* session = new Session;
  return *session;
}

Session::Session() : objects_(kObjectBytes) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  setCodegenSwitches();
  linker_ = std::make_unique<Linker>();
}

/// A compiler for one thread, which others that compile meanwhile do not wait for.
class Session::Borrowed {
 public:
  Borrowed(Session& session, const TargetSpec& target, int optLevel)
      : session_(session),
        isa_(isaIndex(target.isa)),
        optimizes_(optLevel > 0) {
    {
      absl::MutexLock lock(&session_.mutex_);
      auto& idle = session_.compilers_[isa_][optimizes_];
      if (!idle.empty()) {
        compiler_ = std::move(idle.back());
        idle.pop_back();
      }
    }
    if (!compiler_) compiler_ = std::make_unique<Compiler>(target, optLevel);
  }
  ~Borrowed() {
    absl::MutexLock lock(&session_.mutex_);
    session_.compilers_[isa_][optimizes_].push_back(std::move(compiler_));
  }
  Borrowed(const Borrowed&) = delete;
  Compiler& operator*() const { return *compiler_; }
  Compiler* operator->() const { return compiler_.get(); }

 private:
  Session& session_;
  const int isa_;
  const bool optimizes_;
  std::unique_ptr<Compiler> compiler_;
};

void Session::prepare(llvm::Module& module, const TargetSpec& target, int optLevel) {
  const Borrowed compiler(*this, target, optLevel);
  module.setDataLayout(compiler->layout());
  module.setTargetTriple(compiler->triple());
}

void Session::improve(llvm::Module& module, const TargetSpec& target, int optLevel) {
  if (optLevel == 0 || !wantsOptimization(module)) return;
  const Borrowed compiler(*this, target, optLevel);
  optimize(module, compiler->machine());
}

namespace {

/// Errors of the code generator while it lives. LLVM's own handler of them ends the process.
class CodegenErrors {
 public:
  explicit CodegenErrors(llvm::LLVMContext& context) : context_(context) {
    context.setDiagnosticHandler(std::make_unique<Handler>(text_));
  }
  ~CodegenErrors() { context_.setDiagnosticHandler(std::make_unique<llvm::DiagnosticHandler>()); }
  CodegenErrors(const CodegenErrors&) = delete;

  absl::Status status() const {
    return text_.empty() ? absl::OkStatus() : absl::AbortedError(absl::StrCat("code generation: ", text_));
  }

 private:
  struct Handler final : llvm::DiagnosticHandler {
    explicit Handler(std::string& text) : text(text) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
      if (info.getSeverity() != llvm::DS_Error) return true;
      llvm::raw_string_ostream stream(text);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
      stream << "; ";
      return true;
    }
    std::string& text;
  };

  llvm::LLVMContext& context_;
  std::string text_;
};

}  // namespace

absl::StatusOr<Session::Generated> Session::generate(llvm::Module& module, const TargetSpec& target, int optLevel,
                                                     const std::vector<std::string>& entries,
                                                     const Deadline& deadline) {
  Stopwatch watch;
  const Borrowed compiler(*this, target, optLevel);
  compiler->limit(deadline);
  CodegenErrors errors(module.getContext());
  auto object = (*compiler)(module);
  if (compiler->hasCut()) {
    if (!object) llvm::consumeError(object.takeError());
    return absl::DeadlineExceededError("it takes too long: given up in the middle of code generation");
  }
  if (!object) return toStatus(object.takeError());
  if (!errors.status().ok()) return errors.status();
  const double codegenMs = watch.lapMs();
  absl::MutexLock lock(&mutex_);
  objects_.store(entries[0], std::string_view((*object)->getBufferStart(), (*object)->getBufferSize()));
  absl::StatusOr<Generated> out = loadLocked(std::move(*object), entries);
  if (out.ok()) out->codegenMs = codegenMs;
  return out;
}

absl::StatusOr<Session::Generated> Session::loadLocked(std::unique_ptr<llvm::MemoryBuffer> object,
                                                       const std::vector<std::string>& entries) {
  Stopwatch watch;
  Generated out;
  auto code = linker_->link(std::move(object), entries);
  if (!code.ok()) return code.status();
  out.code = *std::move(code);
  loaded_[entries[0]] = out.code;
  if (loaded_.size() > sweepAt_) {
    absl::erase_if(loaded_, [](const auto& entry) { return entry.second.expired(); });
    sweepAt_ = 2 * loaded_.size() + 64;
  }
  out.linkMs = watch.lapMs();
  return out;
}

absl::StatusOr<Session::Generated> Session::find(const std::vector<std::string>& entries) {
  absl::MutexLock lock(&mutex_);
  if (const auto known = loaded_.find(entries[0]); known != loaded_.end())
    if (std::shared_ptr<const LoadedCode> code = known->second.lock()) return Generated{std::move(code)};
  const std::string* object = objects_.find(entries[0]);
  if (!object) return Generated{};
  return loadLocked(llvm::MemoryBuffer::getMemBufferCopy(*object, "kernel"), entries);
}

std::string Session::object(const std::string& name) {
  absl::MutexLock lock(&mutex_);
  const std::string* object = objects_.find(name);
  return object ? *object : std::string();
}

absl::StatusOr<std::string> Session::assembly(const llvm::Module& module, const TargetSpec& target, int optLevel) {
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(target, optLevel);
  machine->Options.MCOptions.AsmVerbose = true;
  // Code generation changes the module, so it works on a copy.
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    return absl::InternalError("the target cannot print assembly");
  }
  CodegenErrors errors(module.getContext());
  passes.run(*copy);
  if (!errors.status().ok()) return errors.status();
  return std::string(text.data(), text.size());
}

}  // namespace fw::jit
