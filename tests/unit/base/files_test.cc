// SPDX-License-Identifier: BSD-3-Clause
#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/own_folder.h"
#include "base/write_signals.h"

namespace unisono {
namespace {

namespace fs = std::filesystem;

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() { fs::create_directories(folder_); }
  ~FilesTest() override { fs::remove_all(folder_); }

  std::string name(const std::string& name = "file") const { return folder_ + "/" + name; }
  std::string written(const std::string& text) const {
    std::ofstream(name()) << text;
    return name();
  }
  static mode_t mode_of(const std::string& name) {
    struct stat status {};
    return ::lstat(name.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }

  const std::string folder_ = testing::TempDir() + "/files_test." + std::to_string(::getpid());
};

TEST_F(FilesTest, TheNullDeviceIsNotReplaced) {
  // Another node of it: root could replace the machine's own.
  if (::mknod(name("null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) GTEST_SKIP() << "needs root";
  EXPECT_TRUE(is_null_device(name("null")));
  EXPECT_EQ(replace_file(name("null"), "some text"), "");
  struct stat status {};
  ASSERT_EQ(::lstat(name("null").c_str(), &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  EXPECT_FALSE(is_null_device(name("none")));
  EXPECT_FALSE(is_null_device(written("text")));
}

TEST_F(FilesTest, AreReadWhole) {
  for (const std::size_t bytes : {0, 1, 65535, 65536, 65537, 200'000}) {
    const std::string text(bytes, 'x');
    EXPECT_EQ(file_text(written(text)), text);
  }
  EXPECT_EQ(file_text(written("two\nlines\n")), "two\nlines\n");
  EXPECT_TRUE(file_text("/proc/self/cmdline").has_value()) << "files of the kernel have no size";
}

TEST_F(FilesTest, NothingElseIsRead) {
  EXPECT_EQ(read_file(name("nowhere")).problem, "cannot be read: No such file or directory");
  EXPECT_EQ(read_file(folder_).problem, "is a directory");
  EXPECT_EQ(read_file("/dev/zero").problem, "is no regular file");
  ASSERT_EQ(::mkfifo(name("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_file(name("pipe")).problem, "is no regular file") << "and nobody waits for a writer";
  EXPECT_EQ(read_file(written(std::string(1025, 'x')), 1024).problem, "has more than 1K bytes");
  EXPECT_TRUE(read_file(written(std::string(1024, 'x')), 1024).text);
}

TEST_F(FilesTest, AreReplacedAndNothingBehindALinkIs) {
  std::ofstream(name("victim")) << "theirs";
  fs::create_symlink(name("victim"), name());
  EXPECT_EQ(replace_file(name(), "ours"), "");
  EXPECT_EQ(file_text(name("victim")), "theirs");
  EXPECT_EQ(file_text(name()), "ours");
  EXPECT_FALSE(fs::is_symlink(name()));
  EXPECT_EQ(replace_file(name("own"), "ours", for_owner), "");
  EXPECT_EQ(mode_of(name("own")), 0600u);
  ASSERT_EQ(::mkfifo(name("pipe").c_str(), 0600), 0);
  EXPECT_EQ(replace_file(name("pipe"), "x"), "cannot be written: it is no regular file");
  EXPECT_EQ(replace_file(folder_, "x"), "cannot be written: it is a directory");
  EXPECT_NE(temporary_name(name()), temporary_name(name()));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 4) << "nothing else is left";
}

// A limit for files ends a process by a signal, unless that is kept off.
TEST_F(FilesTest, ALimitForFilesIsNoSignal) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    ::setrlimit(RLIMIT_FSIZE, &none);
    const bool is_said = replace_file(name(), "text") == "cannot be written: File too large";
    sigset_t pending;
    ::sigpending(&pending);
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(3);
    ::close(ends[0]);
    {
      const WithoutWriteSignals without_signals;
      if (::write(ends[1], "x", 1) != -1 || errno != EPIPE) ::_exit(4);
    }
    ::_exit(is_said && ::sigismember(&pending, SIGXFSZ) == 0 && !fs::exists(name()) ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(FilesTest, OwnFoldersAreTheUsersAlone) {
  const std::string cache = name("cache");
  {
    const OwnFolder missing(cache, {"a"}, OwnFolder::Missing::stays);
    EXPECT_FALSE(missing.is_there());
    EXPECT_EQ(missing.problem(), "");
    const OwnFolder folder(cache, {"a", "b"}, OwnFolder::Missing::is_made);
    ASSERT_TRUE(folder.is_there()) << folder.problem();
    EXPECT_EQ(mode_of(cache), 0700u);
    EXPECT_EQ(folder.write("x.json", "text"), "");
    EXPECT_EQ(mode_of(cache + "/a/b/x.json"), 0600u);
    EXPECT_EQ(folder.read("x.json").text, "text");
    // No link leads out of it.
    std::ofstream(name("victim")) << "theirs";
    fs::create_symlink(name("victim"), cache + "/a/b/link");
    EXPECT_FALSE(folder.read("link").text);
    fs::create_symlink(folder_, cache + "/out");
    EXPECT_FALSE(OwnFolder(cache, {"out"}, OwnFolder::Missing::is_made).is_there());
    // Files that others may have written are not read.
    fs::permissions(cache + "/a/b/x.json", fs::perms(0666));
    EXPECT_NE(folder.read("x.json").problem.find("may be written by others"), std::string::npos);
  }
  fs::permissions(cache, fs::perms(0777));
  const OwnFolder open_to_all(cache, {}, OwnFolder::Missing::is_made);
  EXPECT_FALSE(open_to_all.is_there());
  EXPECT_NE(open_to_all.problem().find("is not used: it may be written by others"), std::string::npos);
}

TEST_F(FilesTest, AFolderOfAnotherUserIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a folder away";
  const std::string cache = name("cache");
  fs::create_directory(cache);
  fs::permissions(cache, fs::perms(0700));
  ASSERT_EQ(::chown(cache.c_str(), 4711, 4711), 0);
  const OwnFolder of_another(cache, {}, OwnFolder::Missing::is_made);
  EXPECT_NE(of_another.problem().find("belongs to another user (number 4711)"), std::string::npos);
}

TEST_F(FilesTest, WhyAFolderCannotBeMadeIsOfTheFirstThatCannot) {
  const OwnFolder folder("/sys/unisono/a/b", {"c"}, OwnFolder::Missing::is_made);
  EXPECT_FALSE(folder.is_there());
  EXPECT_NE(folder.problem().find(" cannot be written: "), std::string::npos) << folder.problem();
  EXPECT_EQ(folder.problem().find("No such file"), std::string::npos) << folder.problem();
  EXPECT_TRUE(OwnFolder(name("x/y/z"), {"c"}, OwnFolder::Missing::is_made).is_there());
}

TEST_F(FilesTest, NobodyElseCanHoldALock) {
  const OwnFolder folder(name("cache"), {}, OwnFolder::Missing::is_made);
  std::ofstream(name("cache") + "/lock") << "";  // as earlier versions made it
  fs::permissions(name("cache") + "/lock", fs::perms(0644));
  {
    const Lock lock(folder, "lock");
    EXPECT_EQ(lock.problem(), "");
    EXPECT_EQ(mode_of(name("cache") + "/lock"), 0600u);
    const Lock second(folder, "lock");
    EXPECT_NE(second.problem().find("is held by another job"), std::string::npos);
  }
  const Lock third(folder, "lock");
  EXPECT_EQ(third.problem(), "");
  fs::create_symlink(name("victim"), name("cache") + "/link");
  EXPECT_NE(Lock(folder, "link").problem(), "");
  EXPECT_FALSE(fs::exists(name("victim")));
}

}  // namespace
}  // namespace unisono
