import { describe, expect, it } from 'vitest'
import { commands } from './commands/index.ts'
import { asQuestion, meanings, suggest } from './suggest.ts'

const paths = commands.map(({ path }) => path.join(' '))

describe('a word that is no command', () => {
  it.each([
    ['getme', 'me'],
    ['getMe', 'me'],
    ['getGps', 'gps show'],
    ['rpc.discover', 'call rpc.discover'],
    ['updateGps', 'call updateGps'],
    ['rm', 'container remove'],
    ['run', 'deploy'],
    ['exec', 'logs'],
    ['ls', 'ps'],
    ['version', '--version'],
    ['signin', 'login'],
    ['pack', 'image pack'],
    ['rotate', 'admin keys rotate'],
    ['lgos', 'logs'],
    ['stauts', 'status'],
    ['contaner', 'container'],
    ['whomai', 'whoami'],
  ])('%s is answered with "%s" first', (word, meant) => {
    expect(suggest([], word, commands)[0]).toBe(meant)
  })

  it.each([
    [['container'], 'ls', 'container list'],
    [['container'], 'rm', 'container remove'],
    [['container'], 'lsit', 'container list'],
    [['image'], 'push', 'image deploy'],
    [['context'], 'switch', 'context use'],
    [['admin', 'token'], 'rm', 'admin token revoke'],
    [['token'], 'get', 'token access'],
  ])('of %j: %s is answered with "%s" first', (group, word, meant) => {
    expect(suggest(group, word, commands)[0]).toBe(meant)
  })

  it.each(['', 'constructor', '__proto__', 'toString', 'zzzzzzzz', 'x'.repeat(100_000)])(
    'is not answered with a guess: %.20j',
    (word) => {
      expect(suggest([], word, commands)).toEqual([])
      expect(suggest(['container'], word, commands)).toEqual([])
    },
  )

  it('is answered with three commands at most, as a question', () => {
    expect(suggest([], 'create', commands).length).toBeLessThanOrEqual(3)
    expect(asQuestion(['ps', 'image list'])).toBe('Did you mean "selvedge ps" or "selvedge image list"?')
  })

  it('is never answered with a command that does not exist', () => {
    const wrong = Object.entries(meanings).filter(
      ([word, meant]) =>
        paths.includes(word) || !meant.every((each) => each === '--version' || paths.includes(each)),
    )
    expect(wrong).toEqual([])
  })
})
