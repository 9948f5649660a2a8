import { openSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { refusesWrites, storageRefusal } from './storage-refusal.ts'
import { StoreError } from './store-error.ts'

const failure = (code: string, syscall?: string) =>
  Object.assign(new Error('/secret/path'), { code, syscall })
const store = (code: string) => new StoreError('can’t write /secret/path', { cause: failure(code) })

describe('a failure of the storage', () => {
  it.each([
    ['a full disk', store('ENOSPC'), 'storage_full', /disk is full/],
    ['a full quota', failure('EDQUOT', 'write'), 'storage_full', /disk is full/],
    ['an error of the disk', store('EIO'), 'storage_failed', /EIO/],
    ['no descriptor', failure('EMFILE', 'open'), 'storage_failed', /EMFILE/],
    ['a database that is gone', store('CONNECTION_CLOSED'), 'storage_failed', /CONNECTION_CLOSED/],
    ['a name that is not found now', store('EAI_AGAIN'), 'storage_failed', /EAI_AGAIN/],
    ['a host without a way to it', store('EHOSTUNREACH'), 'storage_failed', /EHOSTUNREACH/],
    ['a response that did not come', store('CONNECTION_FAILED'), 'storage_failed', /CONNECTION_FAILED/],
    ['a statement that was cancelled', store('57014'), 'storage_failed', /57014/],
    ['a wrong password', store('28P01'), 'storage_failed', /28P01/],
    ['a server that only reads', store('25006'), 'storage_failed', /25006/],
    ['one under others', new Error('outer', { cause: store('EROFS') }), 'storage_failed', /EROFS/],
  ])('names %s, and no file', (_, cause, reason, message) => {
    const refusal = storageRefusal(cause)
    expect(refusal).toMatchObject({ reason, message: expect.stringMatching(message), cause })
    expect(refusal!.message).not.toContain('/secret')
  })

  it.each([
    ...['open', 'read', 'write', 'fsync', 'fdatasync', 'ftruncate', 'rename', 'unlink', 'mkdir', 'rm'],
    ...['rmdir', 'stat', 'scandir', 'link'],
  ])('is that of a file with the call %s', (call) =>
    expect(storageRefusal(failure('EIO', call))).toMatchObject({ reason: 'storage_failed' }),
  )

  it.each(['EIO', 'EUCLEAN', 'EROFS', 'EMFILE', 'ENFILE', 'ENOMEM', 'EACCES', 'EPERM'])(
    'is that of a file with %s, and of no other code with that in it',
    (code) => {
      expect(storageRefusal(failure(code, 'write'))).toMatchObject({ reason: 'storage_failed' })
      for (const other of [`X${code}`, `${code}X`])
        expect(storageRefusal(failure(other, 'write'))).toBeUndefined()
    },
  )

  it.each([
    ...['ECONNREFUSED', 'ETIMEDOUT', 'EPIPE', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN', 'ENOTFOUND'],
    ...['CONNECTION_ENDED', 'CONNECT_TIMEOUT', '08006', '28000', '53300', '57P01', '58030', '25006'],
  ])('is that of a database with %s, and of no other code with that in it', (code) => {
    expect(storageRefusal(store(code))).toMatchObject({ reason: 'storage_failed' })
    for (const other of [`-${code}`, `${code}-`]) expect(storageRefusal(store(other))).toBeUndefined()
  })

  it.each(['ENOSPC', 'EDQUOT', '53100'])('is a full disk with %s', (code) =>
    expect(storageRefusal(store(code))).toMatchObject({ reason: 'storage_full' }),
  )

  it('is found under four others, and not searched for without end', () => {
    const under = (cause: unknown, count: number): unknown =>
      count === 0 ? cause : new Error('outer', { cause: under(cause, count - 1) })
    expect(storageRefusal(under(failure('EIO', 'read'), 4))).toMatchObject({ reason: 'storage_failed' })
    expect(storageRefusal(under(failure('EIO', 'read'), 5))).toBeUndefined()
    const circle = new Error('circle')
    circle.cause = circle
    expect(storageRefusal(circle)).toBeUndefined()
  })

  it('is distinguished from missing files, network errors and defects', () => {
    const missing = (() => {
      try {
        return openSync('/nothing/there', 'r')
      } catch (cause) {
        return cause
      }
    })()
    for (const cause of [
      missing,
      failure('ECONNREFUSED', 'connect'),
      failure('ECONNRESET', 'read'),
      failure('EPIPE', 'write'),
      new TypeError('x'),
      new StoreError('y'),
      store('42601'),
      store('25001'),
      1,
      undefined,
    ])
      expect(storageRefusal(cause)).toBeUndefined()
  })
})

it.each([
  ['a standby', store('25006'), true],
  ['a server with a full disk', store('53100'), true],
  ['a database that is gone', store('CONNECTION_CLOSED'), false],
  ['an error of another kind with that code', failure('25006'), false],
  ['nothing', undefined, false],
])('%s refuses writes and still reads, or it does not', (_, cause, expected) => {
  expect(refusesWrites(cause)).toBe(expected)
})
