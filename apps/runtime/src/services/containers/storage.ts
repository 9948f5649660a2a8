/**
 * `context.storage` of functions: durable, one space for each container, in one database that is opened when it is first needed.
 *
 * Two instances of a container run at once while it is redeployed. One of them writes, the other one reads along: it gets
 * what is stored and then every change, in the order in which they were stored. The right to write is handed over whole:
 * the one before stores what it has, and the next one begins with all of it.
 */
import { existsSync } from 'node:fs'
import { RpcError } from '@selvedge/protocol'
import { inBackground } from '@selvedge/service-kit/safely'
import { shareResult } from '@selvedge/service-kit/share'
import { openSqlite, type SqlStore } from '@selvedge/service-kit/store'
import type { StorageChange, StorageReader, StorageSession } from '../engines/engine.ts'
import { addTags, readPart, refusalOf, removeSpace, schema, setQuota, writeChange } from './storage-items.ts'

export interface ContainerStorage {
  /**
   * @param quota bytes that keys, values and tags may take, with 64 bytes an item; it counts from when the session may write
   * @param reader of the instance
   */
  open(dataKey: string, quota: number, reader: StorageReader): Promise<StorageSession>
  /** Removes all that a container stored. */
  remove(dataKey: string): Promise<void>
  close(): Promise<void>
}

interface Session {
  readonly quota: number
  readonly reader: StorageReader
  isFollowing: boolean
  isClosed: boolean
}

/** What a container stored, and who uses it. */
interface Space {
  readonly sessions: Set<Session>
  writer: Session | undefined
  /** Reads and writes one after the other, so that all readers see the same order. */
  readonly inOrder: InOrder
  readonly handOver: InOrder
}

type InOrder = <T>(work: () => Promise<T>) => Promise<T>

function createOrder(): InOrder {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work)
    last = mine.catch(() => undefined)
    return mine
  }
}

export function createContainerStorage(path: string): ContainerStorage {
  const open = shareResult(async () => {
    const store = await openSqlite(path, schema)
    await addTags(store).catch(async (cause) => {
      await store.close()
      throw cause
    })
    return store
  })
  const spaces = new Map<string, Space>()

  function spaceOf(dataKey: string): Space {
    const known = spaces.get(dataKey)
    if (known) return known
    const space: Space = {
      sessions: new Set(),
      writer: undefined,
      inOrder: createOrder(),
      handOver: createOrder(),
    }
    spaces.set(dataKey, space)
    return space
  }

  return {
    async open(dataKey, quota, reader) {
      const store = await open()
      const space = spaceOf(dataKey)
      const session: Session = { quota, reader, isFollowing: false, isClosed: false }
      space.sessions.add(session)
      return {
        async follow() {
          await follow(store, dataKey, space, session)
          if (!space.writer) await takeOver(store, dataKey, space, session)
        },
        takeOver: () => takeOver(store, dataKey, space, session),
        write: (change) => space.inOrder(() => write(store, dataKey, space, session, change)),
        close() {
          session.isClosed = true
          space.sessions.delete(session)
          if (space.writer === session) space.writer = undefined
          if (space.sessions.size === 0 && spaces.get(dataKey) === space) spaces.delete(dataKey)
        },
      }
    },
    async remove(dataKey) {
      if (!existsSync(path)) return
      const store = await open()
      await store.run(removeSpace(dataKey))
    },
    async close() {
      const store = await open.present()?.catch(() => undefined)
      await store?.close()
    },
  }
}

/** Each part is read and sent in one step, between two changes; later changes follow it. */
async function follow(store: SqlStore, dataKey: string, { inOrder }: Space, session: Session): Promise<void> {
  session.isFollowing = true
  let last: string | null = null
  for (;;) {
    const sent = await inOrder(async () => {
      const part = await readPart(store, dataKey, last)
      if (!part || session.isClosed) return undefined
      last = part.last
      return { taken: session.reader.receive(part.change) }
    })
    if (!sent) return
    await sent.taken
  }
}

/** Hand-overs wait for each other: each begins with what the one before it left. */
function takeOver(store: SqlStore, dataKey: string, space: Space, session: Session): Promise<void> {
  return space.handOver(async () => {
    if (space.writer === session || session.isClosed) return
    await space.writer?.reader.mayWrite(false)
    await space.inOrder(async () => {
      await store.run(setQuota(dataKey, session.quota))
      if (!session.isClosed) space.writer = session
    })
    await session.reader.mayWrite(true)
  })
}

async function write(
  store: SqlStore,
  dataKey: string,
  { writer, sessions }: Space,
  session: Session,
  change: StorageChange,
): Promise<void> {
  if (writer !== session)
    throw new RpcError(
      'conflict',
      'another revision of the container writes to its storage now; this one may only read it',
    )
  await store.run(writeChange(dataKey, change)).catch((cause) => {
    throw refusalOf(session.quota, cause)
  })
  for (const each of sessions)
    if (each !== session && each.isFollowing) inBackground('storage.change', each.reader.receive(change))
}
