package millstream.operator;

/**
 * When groups end.
 *
 * @param key which of the key's columns has the time
 * @param afterMs so many milliseconds after it
 */
public record GroupEnds(int key, long afterMs) {}
