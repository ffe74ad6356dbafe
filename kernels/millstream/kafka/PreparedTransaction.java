package millstream.kafka;

import millstream.sink.TaskWriter;

/** An open transaction with all its records at the brokers: whoever knows this much can end it. */
record PreparedTransaction(String id, long producerId, short producerEpoch, long records)
    implements TaskWriter.Prepared {}
