"""Makes a source file of the dashboard's files: embed.py OUT NAME=FILE... The bytes, the same gzipped, and a checksum.

SPDX-License-Identifier: Apache-2.0
"""

import gzip
import hashlib
import sys

TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
LINE = 32


def literal(data):
    """As string literals; octal, because a digit may follow."""
    lines = (data[i:i + LINE] for i in range(0, len(data), LINE))
    return "\n".join('    "' + "".join(f"\\{byte:03o}" for byte in line) + '"' for line in lines)


def main(out, files):
    rows = []
    for name, path in (pair.split("=", 1) for pair in files):
        with open(path, "rb") as file:
            data = file.read()
        packed = gzip.compress(data, 9, mtime=0)
        etag = hashlib.sha256(data).hexdigest()[:16]
        rows.append(f'    {{"{name}", "{TYPES[name.rsplit(".", 1)[1]]}", "\\"{etag}\\"",\n'
                    f"    std::string_view(\n{literal(data)}, {len(data)}),\n"
                    f"    std::string_view(\n{literal(packed)}, {len(packed)})}},\n")
    with open(out, "w") as file:
        file.write('#include "ui/ui_assets.h"\n\nnamespace arion {\n\nabsl::Span<const UiAsset> UiAssets() {\n'
                   "  static constexpr UiAsset kAssets[] = {\n" + "".join(rows) + "  };\n  return kAssets;\n}\n\n}  // namespace arion\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
