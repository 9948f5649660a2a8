/** A service that does not run is shown with its last line, and the hint, followed literally, starts it. */
import { expect, it } from 'vitest'
import { checkUnits, type UnitState, type Units } from './units.ts'

const running: UnitState = {
  ...{ LoadState: 'loaded', ActiveState: 'active', UnitFileState: 'enabled', ExecMainStatus: '0' },
}

/** @param changes of `selvedge.service`; the other units are not installed */
function unitsWith(changes: Partial<UnitState>, line = ''): Units {
  return {
    state: (unit) =>
      unit === 'selvedge.service' ? { ...running, ...changes } : { ...running, LoadState: 'not-found' },
    lastLine: () => line,
  }
}

it.each([
  ['runs', {}],
  ['was stopped and disabled by a person', { ActiveState: 'inactive', UnitFileState: 'disabled' }],
])('a service that %s is not shown', (_, changes) => expect(checkUnits(unitsWith(changes))).toEqual([]))

it('a machine without systemd has no such check', () => expect(checkUnits(undefined)).toEqual([]))

it.each([
  ['text', 'error: the port 8083 is in use', 'error: the port 8083 is in use'],
  ['JSON', '{"message":"cannot start","cause":"the disk is full"}', 'cannot start: the disk is full'],
  ['JSON with a cause as an object', '{"message":"a","cause":{"message":"b"}}', 'a: b'],
  ['JSON without a message', '{"other":1}', '{"other":1}'],
  ['JSON that is no object', 'null', 'null'],
  ['a long text', 'x'.repeat(500), `${'x'.repeat(400)}…`],
])('a service that failed is shown with its last line, as %s', (_, line, shown) => {
  const [check] = checkUnits(unitsWith({ ActiveState: 'failed', ExecMainStatus: '1' }, line))
  expect(check).toMatchObject({
    ok: false,
    detail: `selvedge.service is failed; its last line: ${shown}`,
    fix: ['systemctl', 'restart', 'selvedge.service'],
  })
  expect(check!.hints[0]).toMatch(/^(?:sudo )?systemctl restart selvedge\.service$/)
})

it('a service that waits for its next start is shown, with or without a last line', () =>
  expect(checkUnits(unitsWith({ ActiveState: 'activating', ExecMainStatus: '1' }))).toMatchObject([
    { detail: 'selvedge.service is activating' },
  ]))

it('a wrong setting is corrected by a person: nothing is run for it', () => {
  const [check] = checkUnits(unitsWith({ ActiveState: 'failed', ExecMainStatus: '78' }, 'unknown option "x"'))
  expect(check!.fix).toBeUndefined()
  expect(check!.hints[0]).toMatch(/\/etc\/selvedge\/runtime\.json.*systemctl restart selvedge\.service$/)
})

it('a masked service is unmasked first', () =>
  expect(checkUnits(unitsWith({ LoadState: 'masked', ActiveState: 'inactive' }))).toMatchObject([
    { hints: ['sudo systemctl unmask selvedge.service'] },
  ]))
