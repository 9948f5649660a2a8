import { argon2Sync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createPasswords, PasswordsBusy, problemOf } from './passwords.ts'

const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
const cheap = { memory: 8, passes: 1, parallelism: 1 }
const nonce = Buffer.alloc(16, 1)

/** A hash with little work, in the form of the reference implementation. */
function hashWith(password: string, cost = cheap, tagLength = 32): string {
  const tag = argon2Sync('argon2id', { message: password, nonce, ...cost, tagLength })
  return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${base64(nonce)}$${base64(tag)}`
}

describe('the hash of a password', () => {
  it('has the cost of OWASP, a nonce of its own, and matches the password', async () => {
    const passwords = createPasswords()
    const [one, other] = await Promise.all([passwords.hash('correct horse'), passwords.hash('correct horse')])
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
    expect(other).not.toBe(one)
    expect(await passwords.verify('correct horse', one)).toBe(true)
    expect(await passwords.verify('correct horsf', one)).toBe(false)
  })

  it('is that of the same text in another form of Unicode', async () => {
    const passwords = createPasswords()
    expect(await passwords.verify('u\u0308ber', hashWith('über'))).toBe(true)
    expect(await passwords.verify('\ufb01n', hashWith('fin'))).toBe(true)
  })

  it('contains its cost and its length', async () => {
    const passwords = createPasswords()
    const all = [
      hashWith('p', { memory: 16, passes: 1, parallelism: 1 }),
      hashWith('p', { memory: 16, passes: 2, parallelism: 1 }),
      hashWith('p', { memory: 16, passes: 1, parallelism: 2 }),
      hashWith('p', cheap, 16),
    ]
    for (const each of all) expect(await passwords.verify('p', each)).toBe(true)
    for (const each of all) expect(await passwords.verify('q', each)).toBe(false)
  })

  it('is compared to its end', async () => {
    const whole = hashWith('p')
    const changed = whole.endsWith('A') ? `${whole.slice(0, -2)}QA` : `${whole.slice(0, -2)}AA`
    expect(await createPasswords().verify('p', changed)).toBe(false)
  })

  it.each(['', `x${hashWith('p')}`, `${hashWith('p')}\n`, hashWith('p').replace('v=19', 'v=16')])(
    'in another form matches nothing: %j',
    async (hash) => {
      expect(await createPasswords().verify('p', hash)).toBe(false)
    },
  )
})

describe('sign-ins wait', () => {
  it('up to fifty, and in turn; then they are refused', async () => {
    const { verify } = createPasswords()
    const done: number[] = []
    const waiting = Array.from({ length: 52 }, (_, at) =>
      verify('p', hashWith('p')).then(() => done.push(at)),
    )
    await expect(verify('p', hashWith('p'))).rejects.toThrow(PasswordsBusy)
    await Promise.all(waiting)
    expect(done.length).toBe(52)
    expect(await verify('p', hashWith('p'))).toBe(true)
  })

  it('no longer for one that failed', async () => {
    const { verify } = createPasswords()
    // More lanes than memory.
    const broken = hashWith('p').replace('m=8,t=1,p=1', 'm=8,t=1,p=9999')
    for (let at = 0; at < 3; at++) await expect(verify('p', broken)).rejects.toThrow()
    expect(await verify('p', hashWith('p'))).toBe(true)
  })
})

describe('a new password', () => {
  const problem = (password: string) => problemOf(password, 'Ada.Byron@example.com')

  it.each(['a few words in a row', '🐎🔋📎🖇️ staple horse'])('may be %j', async (password) => {
    expect(await problem(password)).toBeUndefined()
  })

  it.each([
    ['seven c', /^it is shorter than \d+ characters/],
    ['🐎🔋📎🖇', /^it is shorter than \d+ characters/],
    ['password1234', /found in breaches$/],
    ['PASSWORD1234', /found in breaches$/],
    ['12312password12341', /found in breaches$/],
    ['abababababcdabab', /^it repeats a few characters$/],
    ['my ada.byron@example.com x', /^it holds your e-mail address$/],
    ['my name is ADA.BYRON ok', /^it holds your e-mail address$/],
  ])('is not %j', async (password, expected) => {
    expect(await problem(password)).toMatch(expected)
  })

  it('may hold a short name of the address', async () => {
    expect(await problemOf('my ada is a long one', 'ada@example.com')).toBeUndefined()
    expect(await problemOf('my adas is a long one', 'adas@example.com')).toBe('it holds your e-mail address')
  })
})
