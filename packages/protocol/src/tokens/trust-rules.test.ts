/** The rules by which a project trusts another issuer, against claims that are made to slip through. */
import { describe, expect, it } from 'vitest'
import type { JsonObject } from './jws.ts'
import {
  audienceProblem,
  conditionProblem,
  conditionsProblem,
  conditionWarning,
  issuerUrlProblem,
  meetsCondition,
  splitCondition,
} from './trust-rules.ts'

describe('a condition', () => {
  const meets = (text: string, claims: JsonObject) => meetsCondition(claims, splitCondition(text)!)
  it.each<[condition: string, met: readonly unknown[], missed: readonly unknown[]]>([
    [
      'c=a',
      ['a', ['a'], ['b', 'a']],
      ['A', 'a ', ' a', 'aa', '', 'b', null, undefined, ['b'], [], [['a']], { a: 'a' }, { c: 'a' }],
    ],
    ['c=a*', ['a', 'ab', 'a*', ['b', 'ac']], ['A', 'ba', '', 1, true, null, [['a']], { a: 1 }]],
    [
      'c=repo:org/*',
      ['repo:org/', 'repo:org/x'],
      ['repo:org', 'repo:org-evil/x', 'repo:Org/x', 'xrepo:org/x'],
    ],
    ['c=1', ['1', 1, ['1']], [1.5, 10, '01', true, [1]]],
    ['c=true', ['true', true, ['true']], [1, 'True', false, [true]]],
    ['c=null', ['null'], [null, undefined]],
    ['c=1*', ['1', '12'], [1, 12]],
    ['c=a=b', ['a=b'], ['a', 'b']],
    ['c=[object Object]', ['[object Object]'], [{}]],
    ['c=a,b', ['a,b'], [['a', 'b']]],
    ['c=.*', ['.', '.x'], ['a', 'x.']],
  ])('%s is met by what it states, and by nothing similar', (condition, met, missed) => {
    expect(met.map((c) => meets(condition, { c }))).toEqual(met.map(() => true))
    expect(missed.map((c) => meets(condition, { c }))).toEqual(missed.map(() => false))
  })

  it('is not met by an inherited member, nor by a missing one', () => {
    for (const claim of ['toString', 'constructor', '__proto__', 'valueOf'])
      expect(meetsCondition({}, { claim, value: 'a*' })).toBe(false)
    expect(meetsCondition(Object.create({ c: 'a' }), { claim: 'c', value: 'a' })).toBe(false)
    expect(meetsCondition(JSON.parse('{"__proto__":"a"}'), { claim: '__proto__', value: 'a' })).toBe(true)
  })

  it('is one that a person can state', () => {
    expect(conditionProblem({ claim: 'c', value: 'v'.repeat(512) })).toBeUndefined()
    expect(conditionProblem({ claim: 'c', value: 'v*' })).toBeUndefined()
    expect(splitCondition('no equals sign')).toBeUndefined()
    expect(conditionProblem({ claim: 'c'.repeat(100), value: 'v' })).toBeUndefined()
  })

  it.each<[claim: string, value: string, problem: string]>([
    ['', 'v', 'the name of a claim has 1 to 100 characters'],
    ['c'.repeat(101), 'v', 'the name of a claim has 1 to 100 characters'],
    ['c', '', 'the value of a condition has 1 to 512 characters'],
    ['c', 'v'.repeat(513), 'the value of a condition has 1 to 512 characters'],
    ['c', '*', 'c=* would accept every value; state at least the beginning of one'],
    ['c', '**', 'in "**", the "*" is not at the end'],
    ['c', 'a*b', 'in "a*b", the "*" is not at the end'],
    ['c', '*a', 'in "*a", the "*" is not at the end'],
    ['c', 'a\nb', 'a condition has no control characters'],
    ['c\u0000', 'a', 'a condition has no control characters'],
    ...['iss', 'aud', 'exp', 'iat', 'nbf'].map((claim): [string, string, string] => [
      claim,
      'v',
      `the claim "${claim}" is checked for every token; state another claim`,
    ]),
  ])('is refused with the reason: %j = %j', (claim, value, problem) => {
    expect(conditionProblem({ claim, value })).toContain(problem)
  })

  it('has a warning if its beginning ends within a name', () => {
    const warns = (value: string) => conditionWarning({ claim: 'c', value }) !== undefined
    expect(conditionWarning({ claim: 'c', value: 'org*' })).toBe(
      'c=org* also accepts "org-evil/…"; end it with a separator, such as "org/*", if you mean one name',
    )
    expect(['org*', 'org-*', 'o_*', 'v1*', 'ö*'].map(warns)).toEqual([true, true, true, true, true])
    expect(['org', 'org/*', 'org:*', 'a@*', 'a.*', 'a*b'].filter(warns)).toEqual([])
  })

  it('that is missed is named with the value that was found', () => {
    const conditions = [
      { claim: 'a', value: '1' },
      { claim: 'b', value: '2' },
    ]
    expect(conditionsProblem({ a: 1, b: '2' }, conditions)).toBeUndefined()
    expect(conditionsProblem({ a: 1, b: '\u202e3' }, conditions)).toBe(
      'claim "b" is "\\u202e3"; the rule needs "2"',
    )
    expect(conditionsProblem({ b: '2' }, conditions)).toBe('claim "a" is missing; the rule needs "1"')
  })
})

describe('an audience', () => {
  const isAccepted = (claims: JsonObject, when: string[] = []) =>
    audienceProblem(
      claims,
      ['us', 'us too'],
      when.map((each) => splitCondition(each)!),
    ) === undefined
  it.each<[claims: JsonObject, accepted: boolean]>([
    [{ aud: 'us' }, true],
    [{ aud: ['us'] }, true],
    [{ aud: ['us', 'us too'] }, true],
    [{ aud: 'us', azp: 'another' }, true],
    [{ aud: ['us', 'them'], azp: 'us' }, true],
    [{ aud: ['us', 'them'], azp: 'us too' }, true],
    [{ aud: ['us', 'them'] }, false],
    [{ aud: ['us', 'them'], azp: 'them' }, false],
    [{ aud: ['us', 'them'], azp: ['us'] }, false],
    [{ aud: ['us', 'them'], azp: 1 }, false],
    [{ aud: ['us', 'them'], client_id: 'us' }, false],
    [{ aud: ['us', 'them'], azp: null }, false],
    [{ aud: 'US' }, false],
    [{ aud: 'us ' }, false],
    [{ aud: 'us/' }, false],
    [{ aud: '' }, false],
    [{ aud: ['us', ''] }, false],
    [{ aud: ['us', 1] }, false],
    [{ aud: [['us']] }, false],
    [{ aud: { 0: 'us', length: 1 } }, false],
    [{ aud: [] }, false],
    [{}, false],
  ])('%j: %s', (claims, accepted) => {
    expect(isAccepted(claims)).toBe(accepted)
  })

  it.each<[claims: JsonObject, problem: string]>([
    [{ aud: 1 }, 'claim "aud" is 1, not a text or a list of texts'],
    [{ aud: ['us', 1] }, 'claim "aud" is ["us",1], not a text or a list of texts'],
    [{}, 'claim "aud" is missing, not a text or a list of texts'],
    [{ aud: 'them' }, 'claim "aud" is "them"; the rule needs "us" or "us too"'],
    [
      { aud: ['us', 'them'], azp: 1 },
      'claim "aud" has other audiences, too, and claim "azp" is 1, not one of the rule',
    ],
  ])('%j is refused with the reason', (claims, problem) => {
    expect(audienceProblem(claims, ['us', 'us too'], [])).toBe(problem)
  })

  it('of others, too, is accepted if the rule states the azp as a whole', () => {
    const claims = { aud: ['us', 'them'], azp: 'robot' }
    expect(isAccepted(claims, ['azp=robot'])).toBe(true)
    expect(isAccepted(claims, ['azp=rob*'])).toBe(false)
    expect(isAccepted(claims, ['sub=robot'])).toBe(false)
    expect(isAccepted({ aud: ['them'], azp: 'robot' }, ['azp=robot'])).toBe(false)
  })
})

describe('the URL of an issuer', () => {
  it.each([
    'https://issuer.example',
    'https://issuer.example/',
    'https://issuer.example:8443/realms/one',
    'https://issuer.example/realms/one/',
    'http://127.0.0.1:8080',
    'https://[2001:db8::1]',
  ])('%s is one', (url) => {
    expect(issuerUrlProblem(url)).toBeUndefined()
  })
  it('has at most 255 characters', () => {
    const longest = `https://issuer.example/${'x'.repeat(232)}`
    expect(longest).toHaveLength(255)
    expect(issuerUrlProblem(longest)).toBeUndefined()
    expect(issuerUrlProblem(`${longest}x`)).toBe('it is not a URL of at most 255 characters')
  })

  it.each([
    ['issuer.example', 'it is not a URL of at most 255 characters'],
    ['ftp://issuer.example', 'it does not begin with https://'],
    ['https://user@issuer.example', 'it contains a user name'],
    ['https://issuer.example?x=1', 'it has a query or a fragment'],
    ['https://issuer.example/#', 'it has a query or a fragment'],
    ['https://ISSUER.example/a', 'it is not written in the usual form, which is "https://issuer.example/a"'],
  ])('%s is refused with the reason', (url, problem) => {
    expect(issuerUrlProblem(url)).toBe(problem)
  })

  it.each([
    '',
    'issuer.example',
    'ftp://issuer.example',
    'javascript:alert(1)',
    'https://ISSUER.example',
    'HTTPS://issuer.example',
    'https://issuer.example:443',
    'https://issuer.example/a/../b',
    'https://issuer.example/%2e%2e/b',
    'https://issuer.example?x=1',
    'https://issuer.example/?',
    'https://issuer.example#x',
    'https://issuer.example/#',
    'https://user@issuer.example',
    'https://user:password@issuer.example',
    'https://issuer.example@evil.example',
    'https://issuer.example\\@evil.example',
    ' https://issuer.example',
    'https://issuer.example\n',
    'https://issuеr.example',
    'https://0x7f.1',
    `https://issuer.example/${'x'.repeat(255)}`,
  ])('%j is refused', (url) => {
    expect(issuerUrlProblem(url)).toBeTypeOf('string')
  })
})
