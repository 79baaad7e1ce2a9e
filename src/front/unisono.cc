// SPDX-License-Identifier: BSD-3-Clause
// The command `unisono`. Jobs start under it as fast as without: `unisono run` is compiled. Everything else
// is handed to the part in Python.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "base/shown.h"
#include "front/places.h"
#include "front/process.h"
#include "front/run_command.h"
#include "launch/errors.h"

namespace unisono::front {
namespace {

void say(const char* text) {
  std::fprintf(stderr, "%s\n", shown(std::string("unisono: ") + text).c_str());
}

int answer(const std::string& called, const launch::Words& words) {
  // Shells that ask for completions call the command itself, with a variable set.
  const bool completes = std::getenv("_UNISONO_COMPLETE") != nullptr;
  if (!completes && !words.empty() && words[0] == "run")
    return run(launch::Words(words.begin() + 1, words.end()), called);
  launch::Words command{python_command(called)};
  command.insert(command.end(), words.begin(), words.end());
  replace(command);
}

}  // namespace
}  // namespace unisono::front

int main(int count, char** words) {
  try {
    return unisono::front::answer(count > 0 ? words[0] : "", {words + (count > 0 ? 1 : 0), words + count});
  } catch (const unisono::launch::Error& error) {
    unisono::front::say(error.what());
    return error.status();
  } catch (const std::exception& error) {
    unisono::front::say(error.what());
    return unisono::launch::failure_status;
  }
}
