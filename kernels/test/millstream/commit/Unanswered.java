package millstream.commit;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import millstream.journal.Disk;

/** A storage that does what it is asked to do, and whose answer to a commit is lost. */
public final class Unanswered {
  private Unanswered() {}

  public static Decisions takeOver(String folder) throws IOException {
    Disk local = Disk.of(folder);
    Disk broken = disk((call, told) -> {
      Object answer = call.invoke(local, told);
      if (call.getName().equals("createNew") && new String((byte[]) told[1]).contains("epoch")) {
        throw new IOException("interrupted");
      }
      return answer;
    });
    return Decisions.takeOver(broken, folder, "a", false);
  }

  interface Calls {
    Object answer(Method call, Object[] told) throws ReflectiveOperationException, IOException;
  }

  static Disk disk(Calls calls) {
    return (Disk)
        Proxy.newProxyInstance(Disk.class.getClassLoader(), new Class<?>[] {Disk.class}, (any, call, told) -> {
          try {
            return calls.answer(call, told);
          } catch (InvocationTargetException e) {
            throw e.getCause();
          }
        });
  }
}
