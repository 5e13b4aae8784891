// Makes a RocksDB directory as a server of 2.6 leaves it (rocksdbjni 8.5.3, whose blocks have kXXH3 checksums):
// NewerRocksDb DIRECTORY COUNT, records newI:s -> value I, one a decree. SPDX-License-Identifier: Apache-2.0
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.ChecksumType;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompressionType;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

class NewerRocksDb {
  public static void main(String[] arguments) throws Exception {
    RocksDB.loadLibrary();
    ColumnFamilyOptions data =
        new ColumnFamilyOptions()
            .setCompressionType(CompressionType.LZ4_COMPRESSION)
            .setTableFormatConfig(new BlockBasedTableConfig().setFormatVersion(5).setChecksumType(ChecksumType.kXXH3));
    List<ColumnFamilyDescriptor> families = new ArrayList<>();
    families.add(new ColumnFamilyDescriptor("default".getBytes(), data));
    families.add(new ColumnFamilyDescriptor("pegasus_meta_cf".getBytes(), data));
    List<ColumnFamilyHandle> handles = new ArrayList<>();
    DBOptions options =
        new DBOptions().setCreateIfMissing(true).setCreateMissingColumnFamilies(true).setAtomicFlush(true);
    RocksDB db = RocksDB.open(options, arguments[0], families, handles);
    WriteOptions write = new WriteOptions().setDisableWAL(true);
    db.put(handles.get(1), write, "pegasus_data_version".getBytes(), "1".getBytes());
    db.put(handles.get(1), write, "pegasus_last_manual_compact_finish_time".getBytes(), "0".getBytes());
    int count = Integer.parseInt(arguments[1]);
    for (int i = 1; i <= count; ++i) {
      byte[] hash = ("new" + i).getBytes();
      byte[] value = ("value " + i).getBytes();
      byte[] key = ByteBuffer.allocate(3 + hash.length).putShort((short) hash.length).put(hash).put((byte) 's').array();
      byte[] stored = ByteBuffer.allocate(12 + value.length).putInt(0).putLong((1700000000000000L + i) << 8).put(value).array();
      WriteBatch batch = new WriteBatch();
      batch.put(handles.get(0), key, stored);
      batch.put(handles.get(1), "pegasus_last_flushed_decree".getBytes(), Integer.toString(i).getBytes());
      db.write(write, batch);
      if (i == count / 2) db.flush(new FlushOptions(), handles);
    }
    db.flush(new FlushOptions(), handles);
    db.compactRange(handles.get(0));
    for (ColumnFamilyHandle handle : handles) handle.close();
    db.close();
  }
}
