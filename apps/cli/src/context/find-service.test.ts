/** The container that a user names: its path gets the token. */
import { RpcFailure } from '@selvedge/client'
import { describe, expect, it } from 'vitest'
import type { Context } from './context.ts'
import { findContainer } from './find-service.ts'
import { explainEmpty, noContainer, ofClient } from './service-access.ts'

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const token = `${encode({ alg: 'ES256' })}.${encode({ client_id: 'c1' })}.c2ln`

const find = (id: string, ...containers: readonly object[]) => {
  const runtime = {
    async getContainers(asked: object) {
      expect(asked).toEqual({ edgeAccessToken: token })
      return containers
    },
  }
  return findContainer({ runtime } as unknown as Context, token, id)
}

describe('a container', () => {
  const one = { id: 'one', name: 'two', basePath: '/c/one' }
  const two = { id: 'two', name: 'web', basePath: '/c/two/v1.0~x' }

  it('is found by its ID, then by its name', async () => {
    expect(await find('two', one, two)).toBe(two)
    expect(await find('web', one, two)).toBe(two)
    expect(await find('one', one, two)).toBe(one)
  })

  it('that is not there is an error that names the client of the token', async () => {
    await expect(find('three', one, two)).rejects.toMatchObject({
      message: 'there is no container "three"',
      hint: expect.stringMatching(/"selvedge ps" .* for the client c1\./),
      exitCode: 1,
    })
  })

  it.each([
    '',
    '/',
    'c/one',
    '@evil.example/x',
    '.evil.example',
    '/c/one?x',
    '/c/one#x',
    '/c one',
    '/c\\x',
    ':80/x',
  ])('with the path %j gets no token', async (basePath) => {
    await expect(find('one', { id: 'one', name: 'n', basePath })).rejects.toThrow(
      'the runtime states the path',
    )
  })
})

it('shows no more than 400 characters of an ID', () => {
  expect(noContainer('x'.repeat(500), token).message).toBe(`there is no container "${'x'.repeat(400)}"`)
})

it('an empty list is explained to people, on one line, and not to programs', () => {
  const notes: string[] = []
  const terminal = { note: (text: string) => notes.push(text) } as unknown as Context['terminal']
  explainEmpty({ terminal }, token, { json: true })
  expect(notes).toEqual([])
  explainEmpty({ terminal }, `${encode({})}.${encode({ client_id: 'a\nb' })}.c2ln`, {})
  expect(notes).toEqual([expect.stringContaining('for the client a b.')])
  explainEmpty({ terminal }, 'no token', {})
  expect(notes[1]).toContain('for the client (not stated).')
})

describe('a call for one of a client', () => {
  const failure = (reason: string, hint: string) =>
    new RpcFailure({ code: -1, message: 'm', data: { reason, detail: 'd', hint, retryable: false } } as never)

  it('gives its result, and each failure but one as it is', async () => {
    expect(await ofClient(token, Promise.resolve(1))).toBe(1)
    for (const cause of [failure('busy', 'h'), new Error('x')])
      await expect(ofClient(token, Promise.reject(cause))).rejects.toBe(cause)
  })

  it('names the client where nothing was found', async () => {
    await expect(ofClient(token, Promise.reject(failure('not_found', 'Own hint.')))).rejects.toMatchObject({
      reason: 'not_found',
      hint: expect.stringMatching(/^Own hint\. Each client .* for the client c1\./),
    })
  })
})
