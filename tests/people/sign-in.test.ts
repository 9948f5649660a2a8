/** The ways into the console, and those that are none. */
import { identityPaths } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleSession, enterByLink, openConsole, reasonOf } from '../harness/console.ts'
import { adminOf } from '../harness/flow.ts'
import { freePorts, type Program, startProgram, temporaryFolder } from '../harness/processes.ts'

const password = 'three quiet herons at dusk'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let identity: Program
let owner: ConsoleSession
beforeAll(async () => {
  folder = await temporaryFolder()
  identity = await startProgram('identity', { SELVEDGE_STATE: folder.path, ...freePorts })
})
afterAll(async () => {
  await identity.stop()
  await folder.remove()
})

describe('the first owner', () => {
  it('comes by the link that the start prints, which works once', async () => {
    expect((await openConsole(identity.url).api['session.get']()).needsOwner).toBe(true)
    const link = identity.ready.setup!
    owner = await enterByLink(identity.url, link, 'ada@example.com')
    const { viewer } = await owner.api['session.get']()
    expect(viewer).toMatchObject({ email: 'ada@example.com', role: 'owner', hasPassword: false, passkeys: 0 })
    expect(await reasonOf(enterByLink(identity.url, link, 'eve@example.com'))).toBe('credentials_invalid')
  })

  it('chooses a password that is neither short nor known from breaches', async () => {
    const set = (text: string) => reasonOf(owner.api['password.set']({ password: text }))
    for (const weak of [
      'short',
      'password1234',
      '123456789012',
      'ada@example.com!',
      'aaaaaaaaaaaaaaa',
      'QwertyuiopAsdf',
    ]) {
      expect(`${weak}: ${await set(weak)}`).toBe(
        weak === 'QwertyuiopAsdf' ? `${weak}: accepted` : `${weak}: invalid_params`,
      )
    }
    expect(await set(password)).toBe('accepted')
  })

  it('is no longer needed once a person can sign in', async () => {
    expect((await openConsole(identity.url).api['session.get']()).needsOwner).toBe(false)
  })
})

describe('signing in', () => {
  it('by password makes a session in a cookie that no script can read', async () => {
    const session = openConsole(identity.url)
    await session.api['sign_in.password']({ email: 'Ada@Example.com', password })
    expect(session.last().headers.get('set-cookie')).toMatch(
      /^selvedge_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800$/,
    )
    expect((await session.api['session.get']()).viewer?.email).toBe('ada@example.com')
    await session.api['session.end']()
    expect((await session.api['session.get']()).viewer).toBeNull()
  })

  it('ends the session that the browser had: its cookie is worth nothing', async () => {
    const session = openConsole(identity.url)
    await session.api['sign_in.password']({ email: 'ada@example.com', password })
    const before = session.cookie()
    await session.api['sign_in.password']({ email: 'ada@example.com', password })
    const old = openConsole(identity.url, { Cookie: before }, session.key)
    expect((await old.api['session.get']()).viewer).toBeNull()
  })

  it('by recovery code works once', async () => {
    const { codes } = await owner.api['recovery.create']()
    expect(codes).toHaveLength(10)
    const use = (code: string) =>
      reasonOf(openConsole(identity.url).api['sign_in.recovery']({ email: 'ada@example.com', code }))
    expect(await use(codes[0]!.toLowerCase().replace('-', ' '))).toBe('accepted')
    expect(await use(codes[0]!)).toBe('credentials_invalid')
    await owner.api['recovery.create']()
    expect(await use(codes[1]!)).toBe('credentials_invalid')
  })

  it('by a link of the operator works once, for a person who lost every other sign-in method', async () => {
    const { link } = await adminOf(folder.path)['account.link']({ email: 'ada@example.com' })
    expect(link).toMatch(/^http:\/\/localhost:\d+\/reset#[\w-]{43}$/)
    expect(
      (await (await enterByLink(identity.url, link, 'ada@example.com')).api['session.get']()).viewer?.email,
    ).toBe('ada@example.com')
    expect(await reasonOf(enterByLink(identity.url, link, 'ada@example.com'))).toBe('credentials_invalid')
  })

  it('with a changed password ends all other sessions', async () => {
    const other = openConsole(identity.url)
    await other.api['sign_in.password']({ email: 'ada@example.com', password })
    await owner.api['password.set']({ password })
    expect((await other.api['session.get']()).viewer).toBeNull()
    expect((await owner.api['session.get']()).viewer).not.toBeNull()
  })
})

describe('a caller who guesses', () => {
  it('learns nothing of who is known: the same answer, and the same work', async () => {
    const attempt = async (email: string) => {
      const session = openConsole(identity.url)
      const call = session.api['sign_in.password']({ email, password: 'wrong wrong wrong' })
      const failure = await call.catch((cause) => cause)
      return { reason: failure.reason, message: failure.message, status: session.last().status }
    }
    expect(await attempt('nobody@example.com')).toEqual(await attempt('ada@example.com'))
  })

  it('has to wait after a few tries of one address, known or not, and the right password does not help then', async () => {
    for (const email of ['unknown@example.com', 'ada@example.com']) {
      const session = openConsole(identity.url)
      const outcomes = []
      for (let tries = 0; tries < 8; tries++)
        outcomes.push(
          await reasonOf(session.api['sign_in.password']({ email, password: 'wrong wrong wrong' })),
        )
      expect(outcomes.at(-1)).toBe('busy')
      expect(session.last().status).toBe(429)
      expect(Number(session.last().headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(
      await reasonOf(
        openConsole(identity.url).api['sign_in.password']({ email: 'ada@example.com', password }),
      ),
    ).toBe('busy')
    // Who is signed in stays so.
    expect((await owner.api['session.get']()).viewer).not.toBeNull()
  })

  it.each(['', 'x'.repeat(20), 'A'.repeat(43)])('finds nothing behind the link %j', async (link) => {
    expect(['credentials_invalid', 'invalid_params']).toContain(
      await reasonOf(openConsole(identity.url).api['link.look']({ link })),
    )
  })
})

describe('a page of another site', () => {
  const body = '{"jsonrpc":"2.0","id":1,"method":"session.get"}'
  /** With cookie and proof, which no such page has. */
  const send = async (headers: Record<string, string>) =>
    fetch(identity.url + identityPaths.consoleApi, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(await owner.signed('POST', identityPaths.consoleApi, body)),
        ...headers,
      },
      body,
    })

  it.each([
    ['by a foreign origin', { Origin: 'https://evil.example' }],
    ['by a foreign referrer', { Referer: 'https://evil.example/page' }],
    ['as a browser marks it', { 'Sec-Fetch-Site': 'cross-site' }],
    ['by another port of the same host', { Origin: 'http://localhost:1' }],
  ])('can’t call, told %s', async (_, headers) => {
    expect((await send({})).status).toBe(200)
    expect((await send(headers)).status).toBe(403)
  })

  it('can’t call with a form, the only thing it may send without asking', async () => {
    expect((await send({ 'Content-Type': 'text/plain' })).status).toBe(415)
    expect((await send({ 'Content-Type': 'application/x-www-form-urlencoded' })).status).toBe(415)
  })

  it('can’t follow what happens, nor take the audit log', async () => {
    for (const path of [
      identityPaths.consoleEvents,
      identityPaths.consoleAudit,
      identityPaths.consoleDevicesCsv,
    ]) {
      const answer = await fetch(identity.url + path, {
        headers: { ...(await owner.signed('GET', path)), 'Sec-Fetch-Site': 'cross-site' },
      })
      expect(answer.status).toBe(403)
      expect((await fetch(identity.url + path)).status).toBe(401)
    }
  })

  it('can’t frame the pages, nor bring a script or a style into them', async () => {
    const page = await fetch(`${identity.url.replace('127.0.0.1', 'localhost')}/account`)
    const policy = page.headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(await page.text()).not.toMatch(/<script(?![^>]*src=)|<style|\son\w+=|https?:\/\//)
  })
})
