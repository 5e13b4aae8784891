// ServerLogFile: the files of one severity of the server's log, one after the other: a new one when
// one is full, or when it is asked for. A file's name ends with the second in which it was opened,
// or the first second after that of which there is no file yet, so that no two openings meet.
//
// Errors    A line is in the file as a whole or not at all. What can't be opened or written is
//           tried anew with the next line, and reported on standard error when that begins.
// Threads   One at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

namespace arion {

// One for each severity, made by StartLog and never destroyed. It opens nothing before the first
// line.
class ServerLogFile {
 public:
  // Opens files of `directory` whose names begin with `stem`; `link` there points to the newest. A
  // file with `bytes_max` is full.
  ServerLogFile(std::string directory, std::string stem, std::string link, int64_t bytes_max);
  ~ServerLogFile();
  ServerLogFile(const ServerLogFile&) = delete;
  ServerLogFile& operator=(const ServerLogFile&) = delete;

  // Whether the line is in the file. `time`: when it was logged.
  bool Write(time_t time, std::string_view line);

  // The next line begins another file.
  void OpenAnew();

 private:
  // 0 or an errno, as Append.
  int Open(time_t time);
  int Append(std::string_view text);
  void SayFailed(int error) const;

  const std::string directory_;
  const std::string stem_;
  const std::string link_;
  const int64_t bytes_max_;
  // -1: the next line opens a file.
  int fd_ = -1;
  std::string path_;
  // Bytes of whole lines in the open file.
  int64_t size_ = 0;
  // The last line could not be written, and standard error has been told.
  bool fails_ = false;
};

}  // namespace arion
