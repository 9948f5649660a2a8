import { expect, it } from 'vitest'
import { textSecrets } from './secrets.ts'

const secret = (name: string, value: Buffer) => ({ name, file: name, value })

it('a function gets its secrets as texts, by name', () => {
  const given = textSecrets([secret('db', Buffer.from('größe')), secret('two', Buffer.from('2'))])
  expect([...given]).toEqual([
    ['db', 'größe'],
    ['two', '2'],
  ])
})

it('bytes that are no text are refused with the name of the secret', () => {
  expect(() => textSecrets([secret('db', Buffer.from([0xff]))])).toThrow(
    expect.objectContaining({
      reason: 'container_failed',
      message: expect.stringContaining('"db" is not UTF-8'),
    }),
  )
})
