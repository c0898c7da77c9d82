// perf reads /tmp/perf-PID.map, a line per function: address, size, name. That knows no time: where code has gone and
// other code stands at its place, the first wins. The dump (jitdump, tools/perf/Documentation/jitdump-specification.txt
// of Linux) has times and the code itself; `perf inject --jit` makes of it what perf annotate shows. perf learns of the
// dump by a mapping of it that may be executed.
//
// GDB reads a list of symbol files in memory, and stops at __jit_debug_register_code() to hear of changes. A file has a
// .text without contents at the place of the code, and its symbols. Frames are found by their frame pointers.
#include "jit/profilers.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h"

// LLVM has GDB's interface; its header leaves out these.
extern "C" {
void __jit_debug_register_code();
extern jit_descriptor __jit_debug_descriptor;
}

namespace fw::jit {

namespace {

template <class T>
void append(std::string& to, const T& what) {
  to.append(reinterpret_cast<const char*>(&what), sizeof what);
}

struct Symbol {
  std::string name;
  const char* address;
  size_t size;
};

/// An object file of symbols of one .text.
std::string symbolFile(const std::vector<Symbol>& symbols) {
  const char *low = symbols[0].address, *high = low;
  for (const Symbol& s : symbols) {
    low = std::min(low, s.address);
    high = std::max(high, s.address + s.size);
  }
  std::string names(1, '\0'), table(sizeof(Elf64_Sym), '\0');
  for (const Symbol& s : symbols) {
    Elf64_Sym symbol = {};
    symbol.st_name = static_cast<Elf64_Word>(names.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = 1;
    symbol.st_value = static_cast<Elf64_Addr>(s.address - low);
    symbol.st_size = s.size;
    names += s.name + '\0';
    append(table, symbol);
  }
  static constexpr char kSections[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
  const std::string sections(kSections, sizeof kSections);
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 5;
  header.e_shstrndx = 4;
  header.e_shoff = sizeof header;
  Elf64_Shdr list[5] = {};
  size_t at = sizeof header + sizeof list;
  const auto place = [&](Elf64_Shdr& section, Elf64_Word name, Elf64_Word type, size_t size) {
    section.sh_name = name;
    section.sh_type = type;
    section.sh_offset = at;
    section.sh_size = size;
    section.sh_addralign = 1;
    if (type != SHT_NOBITS) at += size;
  };
  place(list[1], 1, SHT_NOBITS, static_cast<size_t>(high - low));
  list[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  list[1].sh_addr = reinterpret_cast<Elf64_Addr>(low);
  list[1].sh_addralign = 16;
  place(list[2], 7, SHT_SYMTAB, table.size());
  list[2].sh_link = 3;
  list[2].sh_info = 1;  // symbols before it are local
  list[2].sh_entsize = sizeof(Elf64_Sym);
  place(list[3], 15, SHT_STRTAB, names.size());
  place(list[4], 23, SHT_STRTAB, sections.size());
  std::string file;
  append(file, header);
  append(file, list);
  return file + table + names + sections;
}

std::mutex& debuggerMutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

/// In GDB's list as long as it lives.
class DebuggerEntry {
 public:
  explicit DebuggerEntry(std::string file) : file_(std::move(file)) {
    entry_.symfile_addr = file_.data();
    entry_.symfile_size = file_.size();
    std::lock_guard lock(debuggerMutex());
    jit_descriptor& all = __jit_debug_descriptor;
    entry_.next_entry = all.first_entry;
    entry_.prev_entry = nullptr;
    if (entry_.next_entry) entry_.next_entry->prev_entry = &entry_;
    all.first_entry = &entry_;
    tell(JIT_REGISTER_FN);
  }
  ~DebuggerEntry() {
    std::lock_guard lock(debuggerMutex());
    (entry_.prev_entry ? entry_.prev_entry->next_entry : __jit_debug_descriptor.first_entry) = entry_.next_entry;
    if (entry_.next_entry) entry_.next_entry->prev_entry = entry_.prev_entry;
    tell(JIT_UNREGISTER_FN);
  }
  DebuggerEntry(const DebuggerEntry&) = delete;

 private:
  void tell(uint32_t action) {
    __jit_debug_descriptor.relevant_entry = &entry_;
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_register_code();
    __jit_debug_descriptor.action_flag = JIT_NOACTION;
    __jit_debug_descriptor.relevant_entry = nullptr;
  }
  const std::string file_;
  jit_code_entry entry_ = {};
};

/// The files for perf.
class PerfFiles {
 public:
  static PerfFiles& instance() {
    static auto* files = new PerfFiles;  // never destroyed: code may be made until the process ends
    return *files;
  }

  std::string open() {
    std::lock_guard lock(mutex_);
    return openLocked();
  }

  bool isOpen() const { return map_ != nullptr; }

  void add(const Symbol& symbol) {
    std::lock_guard lock(mutex_);
    if (pid_ != getpid()) {  // a child after a fork has files of its own, with what it has of its parent
      const std::vector<Symbol> before = std::move(told_);
      told_.clear();
      if (!openLocked().empty()) return;
      for (const Symbol& one : before) writeLocked(one);
    }
    writeLocked(symbol);
  }

 private:
  std::string openLocked() {
    pid_ = getpid();
    const std::string path = absl::StrCat("/tmp/perf-", pid_, ".map");
    // Not what somebody else has put there.
    const int number = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (number < 0) return absl::StrCat("cannot open ", path, ": ", std::strerror(errno));
    if (map_) std::fclose(map_);
    map_ = fdopen(number, "w");
    return openDumpLocked();
  }

  std::string openDumpLocked() {
    const std::string path = absl::StrCat("/tmp/jit-", pid_, ".dump");
    const int number = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (number < 0) return absl::StrCat("cannot open ", path, ": ", std::strerror(errno));
    if (dump_) std::fclose(dump_);
    dump_ = fdopen(number, "w+");
    std::string header;
    append(header, uint32_t{0x4A695444});  // JiTD
    append(header, uint32_t{1});           // version
    append(header, uint32_t{40});          // size of this header
    append(header, uint32_t{EM_X86_64});
    append(header, uint32_t{0});
    append(header, static_cast<uint32_t>(pid_));
    append(header, nowNs());
    append(header, uint64_t{0});  // flags
    std::fwrite(header.data(), 1, header.size(), dump_);
    std::fflush(dump_);
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, number, 0);  // for perf to see; without it only the map is
    return "";
  }

  void writeLocked(const Symbol& symbol) {
    told_.push_back(symbol);
    std::fprintf(map_, "%zx %zx %s\n", reinterpret_cast<size_t>(symbol.address), symbol.size, symbol.name.c_str());
    std::fflush(map_);
    std::string record;
    append(record, uint32_t{0});  // JIT_CODE_LOAD
    append(record, static_cast<uint32_t>(16 + 40 + symbol.name.size() + 1 + symbol.size));
    append(record, nowNs());
    append(record, static_cast<uint32_t>(pid_));
    append(record, static_cast<uint32_t>(syscall(SYS_gettid)));
    append(record, reinterpret_cast<uint64_t>(symbol.address));
    append(record, reinterpret_cast<uint64_t>(symbol.address));
    append(record, uint64_t{symbol.size});
    append(record, uint64_t{told_.size()});
    record += symbol.name + '\0';
    record.append(symbol.address, symbol.size);
    std::fwrite(record.data(), 1, record.size(), dump_);
    std::fflush(dump_);
  }

  static uint64_t nowNs() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);  // perf record -k mono
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  }

  std::mutex mutex_;  // guards everything below
  pid_t pid_ = 0;
  FILE *map_ = nullptr, *dump_ = nullptr;
  std::vector<Symbol> told_;
};

}  // namespace

std::string openProfilers() { return PerfFiles::instance().open(); }
bool areProfilersOpen() { return PerfFiles::instance().isOpen(); }

std::shared_ptr<void> tellProfilers(std::string_view label, const std::vector<CodeFunction>& functions) {
  std::vector<Symbol> symbols;
  for (const CodeFunction& f : functions) {
    std::string name = std::string(label) + f.name;
    std::replace_if(name.begin(), name.end(), [](char c) { return c == '\n' || c == '\0'; }, ' ');
    symbols.push_back({std::move(name), f.address, f.size});
    PerfFiles::instance().add(symbols.back());
  }
  if (symbols.empty()) return nullptr;
  return std::make_shared<DebuggerEntry>(symbolFile(symbols));
}

}  // namespace fw::jit
