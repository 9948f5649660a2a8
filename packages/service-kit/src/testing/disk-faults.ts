/** A disk that fails: writes of this process through file handles fail or wait, until they are repaired. */
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'

type Method = 'write' | 'datasync'

export interface DiskFaults {
  /** Calls of the method fail with ENOSPC. @param count of calls, from the next one; without it all of them */
  fail(method: Method, count?: number): void
  /** Calls of the method wait for {@link DiskFaults.repair}. @returns a function that waits until the first of them waits */
  hold(method: Method): () => Promise<void>
  /** Lets what waits go on, and everything work again. */
  repair(): void
}

export async function createDiskFaults(): Promise<DiskFaults> {
  const handle = await open(tmpdir())
  const files = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  const real: Pick<FileHandle, Method> = { write: files.write, datasync: files.datasync }
  let release = () => {}

  function replace(method: Method, act: () => Promise<void>): void {
    const call = real[method] as (...rest: unknown[]) => Promise<unknown>
    Object.assign(files, {
      async [method](this: FileHandle, ...rest: unknown[]) {
        await act()
        return call.apply(this, rest)
      },
    })
  }

  return {
    fail(method, count = Number.POSITIVE_INFINITY) {
      let left = count
      replace(method, async () => {
        if (left-- > 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
      })
    },
    hold(method) {
      const released = Promise.withResolvers<void>()
      const held = Promise.withResolvers<void>()
      release = released.resolve
      replace(method, () => {
        held.resolve()
        return released.promise
      })
      return () => held.promise
    },
    repair() {
      Object.assign(files, real)
      release()
    },
  }
}
