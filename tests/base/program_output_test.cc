// Each way to lose output, in a process of its own.
// SPDX-License-Identifier: Apache-2.0
#include "base/program_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace arion {
namespace {

constexpr int kLost = 5;
using testing::ExitedWithCode;

void OutputTo(const char* path) {
  const int file = open(path, O_WRONLY);
  dup2(file, STDOUT_FILENO);
  CheckStandardOutputAtExit(kLost);
}

TEST(ProgramOutputDeathTest, WhatAFullDiskDidNotTakeIsToldAtTheEnd) {
  const auto print_and_exit = [] {
    OutputTo("/dev/full");
    printf("a line\n");
    exit(0);
  };
  EXPECT_EXIT(print_and_exit(), ExitedWithCode(kLost),
              ": can't write standard output: No space left on device");
}

TEST(ProgramOutputDeathTest, WhatWasLostBeforeTheEndIsToldAsWell) {
  const auto print_and_exit = [] {
    OutputTo("/dev/full");
    printf("a line\n");
    fflush(stdout);
    exit(0);
  };
  EXPECT_EXIT(print_and_exit(), ExitedWithCode(kLost), ": can't write standard output: ");
}

TEST(ProgramOutputDeathTest, PrintOutReturnsTheReasonAndItIsToldOnce) {
  const auto print_and_exit = [] {
    OutputTo("/dev/full");
    fprintf(stderr, "returned: %s\n", std::string(PrintOut("a line\n").message()).c_str());
    exit(0);
  };
  EXPECT_EXIT(print_and_exit(), ExitedWithCode(kLost),
              "^returned: can't write standard output: No space left on device\n$");
}

TEST(ProgramOutputDeathTest, AReaderThatHasGoneIsNotTold) {
  const auto print_and_exit = [] {
    signal(SIGPIPE, SIG_IGN);
    int ends[2];
    if (pipe(ends) != 0) abort();
    close(ends[0]);
    dup2(ends[1], STDOUT_FILENO);
    CheckStandardOutputAtExit(kLost);
    printf("a line\n");
    exit(0);
  };
  EXPECT_EXIT(print_and_exit(), ExitedWithCode(kLost), "^$");
}

TEST(ProgramOutputDeathTest, ClosedStandardOutputIsNoFaultUntilItIsWritten) {
  const auto close_and_exit = [](const char* text) {
    close(STDOUT_FILENO);
    CheckStandardOutputAtExit(kLost);
    printf("%s", text);
    exit(0);
  };
  EXPECT_EXIT(close_and_exit(""), ExitedWithCode(0), "^$");
  EXPECT_EXIT(close_and_exit("a line\n"), ExitedWithCode(kLost), "Bad file descriptor");
}

TEST(ProgramOutputDeathTest, WhereAllIsTakenTheExitCodeStays) {
  const auto print_and_exit = [] {
    OutputTo("/dev/null");
    if (!PrintOut("a line\n").ok()) abort();
    exit(3);
  };
  EXPECT_EXIT(print_and_exit(), ExitedWithCode(3), "^$");
}

TEST(ProgramOutputTest, AFileThatTakesNotAllIsNamedWithTheReason) {
  EXPECT_EQ(WriteOutputFile("/dev/full", "text").message(),
            "can't write /dev/full: No space left on device");
  EXPECT_EQ(WriteOutputFile("/nonexistent/x", "text").message(),
            "can't write /nonexistent/x: No such file or directory");
  EXPECT_TRUE(WriteOutputFile("/dev/null", "text").ok());
}

}  // namespace
}  // namespace arion
