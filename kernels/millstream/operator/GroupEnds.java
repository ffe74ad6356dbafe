package millstream.operator;

/**
 * When groups end.
 *
 * @param key which of the key's columns has the time
 * @param afterMs how many milliseconds after that time
 */
public record GroupEnds(int key, long afterMs) {}
