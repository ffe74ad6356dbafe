package millstream.kafka;

import millstream.sink.TaskWriter;

/** An open transaction with all its records at the brokers: whoever knows this much can end it, or write it again. */
record PreparedTransaction(String id, long producerId, short producerEpoch, Places places)
    implements TaskWriter.Prepared {}
