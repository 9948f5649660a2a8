/** Which methods the services of a device may call. */
import { expect, it } from 'vitest'
import { expectFromServices, type FromServices } from './from-services.ts'

const isAllowed = (fromServices: FromServices | undefined, settings: object = {}) => {
  try {
    expectFromServices(
      { name: 'a', ...(fromServices && { fromServices }) },
      settings as Parameters<typeof expectFromServices>[1],
    )
    return true
  } catch (cause) {
    expect(cause).toMatchObject({ reason: 'service_not_allowed' })
    return cause
  }
}

it.each<[FromServices | undefined, object, boolean]>([
  ['yes', {}, true],
  ['no', { 'MCM.MANAGE': true, no: true }, false],
  [undefined, { 'MCM.MANAGE': true, undefined: true }, false],
  ['MCM.MANAGE', { 'MCM.MANAGE': true }, true],
  ['MCM.MANAGE', { 'MCM.MANAGE': false }, false],
  ['MCM.MANAGE', { 'MCM.MANAGE': 'true' }, false],
  ['MCM.MANAGE', { 'MCM.EDGE_ID_TOKEN': true }, false],
  ['MCM.EDGE_ID_TOKEN', { 'MCM.EDGE_ID_TOKEN': true }, true],
])('a method for services %j with %j: %s', (fromServices, settings, expected) => {
  expect(isAllowed(fromServices, settings) === true).toBe(expected)
})

it('a refusal names the method, and the setting that would allow it', () => {
  expect(isAllowed('no')).toMatchObject({ message: expect.stringContaining('may not call a') })
  expect(isAllowed('MCM.MANAGE')).toMatchObject({
    message: expect.stringContaining('a needs the setting MCM.MANAGE'),
    hint: expect.stringContaining('"MCM.MANAGE": "true"'),
  })
})
