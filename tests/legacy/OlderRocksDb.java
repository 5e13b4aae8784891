// Opens each RocksDB directory given, as servers of 2.3 to 2.5 do (column families listed, the latest OPTIONS file
// loaded), reads every record, writes one more, flushes and compacts. Prints "FAMILY KEY VALUE" in hexadecimal.
// Run by fixture_test.py with rocksdbjni 6.6.4. SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.DBOptions;
import org.rocksdb.Env;
import org.rocksdb.FlushOptions;
import org.rocksdb.OptionsUtil;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteOptions;

class OlderRocksDb {
  static String hex(byte[] bytes) {
    StringBuilder text = new StringBuilder("x");
    for (byte b : bytes) text.append(String.format("%02x", b));
    return text.toString();
  }

  public static void main(String[] directories) throws Exception {
    RocksDB.loadLibrary();
    StringBuilder out = new StringBuilder();
    for (String directory : directories) {
      out.append("directory ").append(directory).append('\n');
      DBOptions options = new DBOptions();
      List<ColumnFamilyDescriptor> families = new ArrayList<>();
      OptionsUtil.loadLatestOptions(directory, Env.getDefault(), options, families, true);
      options.setWalDir(directory);
      options.setParanoidChecks(true);
      List<ColumnFamilyHandle> handles = new ArrayList<>();
      RocksDB db = RocksDB.open(options, directory, families, handles);
      for (ColumnFamilyHandle handle : handles) {
        RocksIterator walk = db.newIterator(handle);
        for (walk.seekToFirst(); walk.isValid(); walk.next()) {
          out.append(new String(handle.getName())).append(' ').append(hex(walk.key())).append(' ');
          out.append(hex(walk.value())).append('\n');
        }
        walk.status();
        walk.close();
      }
      db.put(handles.get(0), new WriteOptions().setDisableWAL(true), "zzz".getBytes(), new byte[12]);
      db.flush(new FlushOptions(), handles);
      for (ColumnFamilyHandle handle : handles) db.compactRange(handle);
      for (ColumnFamilyHandle handle : handles) handle.close();
      db.close();
    }
    System.out.print(out);
  }
}
