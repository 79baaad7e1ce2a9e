// SPDX-License-Identifier: BSD-3-Clause
// A working directory with programs and files, gone at the end.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace unisono::launch {

class Folder {
 public:
  Folder(const std::vector<std::string>& programs, const std::vector<std::string>& files)
      : before_(std::filesystem::current_path()) {
    std::string name = std::filesystem::temp_directory_path() / "unisono-launch-XXXXXX";
    path_ = ::mkdtemp(name.data());
    std::filesystem::current_path(path_);
    for (const std::string& program : programs) script(program, "exit 0");
    for (const std::string& file : files) write(file, "");
  }
  ~Folder() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(path_);
  }
  Folder(const Folder&) = delete;

  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void script(const std::string& name, const std::string& text) const {
    write(name, "#!/bin/sh\n" + text + "\n");
    ::chmod((path_ + "/" + name).c_str(), 0755);
  }

 private:
  std::filesystem::path before_;
  std::string path_;
};

}  // namespace unisono::launch
