/** The key of a browser: one for all tabs, which no script can export, until a person signs out. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createKeyStore } from './key.ts'

type Asked = {
  result?: unknown
  error?: unknown
  onsuccess?: () => void
  onerror?: () => void
  onupgradeneeded?: () => void
}

/** As much of IndexedDB as is used, in memory. */
function createDatabases() {
  const rows = new Map<string, unknown>()
  const state = {
    tables: [] as string[],
    opened: new Set<string>(),
    open: 0,
    failure: undefined as Error | undefined,
    abort: undefined as Error | undefined,
  }
  const settle = (asked: Asked, work: () => unknown): Asked => {
    queueMicrotask(() => {
      asked.result = work()
      asked.onsuccess?.()
    })
    return asked
  }
  const tableOf = (mode: string) => ({
    get: (name: string) => settle({}, () => rows.get(name)),
    put: (value: unknown, name: string) => {
      if (mode !== 'readwrite') throw new Error('read only')
      return settle({}, () => rows.set(name, value))
    },
    delete: (name: string) => settle({}, () => rows.delete(name)),
  })
  const database = {
    createObjectStore: (name: string) => state.tables.push(name),
    transaction(name: string, mode: string) {
      if (!state.tables.includes(name)) throw new DOMException('no such table')
      if (mode !== 'readonly' && mode !== 'readwrite') throw new TypeError(`the mode ${mode}`)
      const transaction: {
        oncomplete?: () => void
        onabort?: () => void
        error?: unknown
        objectStore: () => object
      } = {
        objectStore: () => tableOf(mode),
      }
      setImmediate(() => {
        transaction.error = state.abort
        if (state.abort) transaction.onabort?.()
        else transaction.oncomplete?.()
      })
      return transaction
    },
    close: () => state.open--,
  }
  return {
    rows,
    state,
    open(name: string, version: number) {
      state.opened.add(`${name} ${version}`)
      const asked: Asked = {}
      setImmediate(() => {
        asked.error = state.failure
        if (state.failure) return asked.onerror?.()
        asked.result = database
        if (state.tables.length === 0) asked.onupgradeneeded?.()
        state.open++
        asked.onsuccess?.()
      })
      return asked
    },
  }
}

let databases: ReturnType<typeof createDatabases>
beforeEach(() => {
  databases = createDatabases()
  vi.stubGlobal('indexedDB', databases)
  vi.stubGlobal('isSecureContext', true)
  vi.stubGlobal('location', { host: 'console.example' })
})
afterEach(() => vi.unstubAllGlobals())

it('is made once, and signs without being readable', async () => {
  const store = createKeyStore()
  const key = await store.get()
  expect(Object.keys(key.jwk).sort()).toEqual(['crv', 'kty', 'x', 'y'])
  expect(key.jwk).toMatchObject({ crv: 'P-256', kty: 'EC' })
  expect(key.privateKey).toMatchObject({ extractable: false, usages: ['sign'] })
  expect(await store.get()).toBe(key)
  expect(await createKeyStore().get()).toBe(key)
  expect([...databases.rows.values()]).toEqual([key])
  expect(databases.state.open).toBe(0)
  expect([...databases.state.opened]).toEqual(['selvedge 1'])
  expect([databases.state.tables, [...databases.rows.keys()]]).toEqual([['keys'], ['session']])
})

it('is the same in tabs that open at once', async () => {
  const [one, other] = await Promise.all([createKeyStore().get(), createKeyStore().get()])
  expect(one).toBe(other)
})

it('is another one after a person signed out', async () => {
  const store = createKeyStore()
  const key = await store.get()
  await store.forget()
  expect(databases.rows.size).toBe(0)
  expect(await store.get()).not.toBe(key)
})

it.each(['failure', 'abort'] as const)(
  'is of this page alone where the browser stores nothing: %s',
  async (when) => {
    databases.state[when] = new DOMException('no')
    const store = createKeyStore()
    const key = await store.get()
    expect(await store.get()).toBe(key)
    expect(await createKeyStore().get()).not.toBe(key)
    await store.forget()
    expect(await store.get()).not.toBe(key)
  },
)

it('is not made after another failure, or where the page is not secure', async () => {
  databases.state.failure = new Error('broken')
  await expect(createKeyStore().get()).rejects.toThrow('broken')
  databases.state.failure = undefined
  vi.stubGlobal('isSecureContext', false)
  await expect(createKeyStore().get()).rejects.toThrow(/needs HTTPS.* from console\.example\.$/)
})
