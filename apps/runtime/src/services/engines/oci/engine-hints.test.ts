/** Each way in which the engine is missing has a command that ends it. */
import { describe, expect, it } from 'vitest'
import { deniedHint, isOfOtherUser, missingHint, otherUserHint, unansweredHint } from './engine-hints.ts'

const podman = '/run/podman/podman.sock'

it.each([
  [
    'the service, without an engine',
    missingHint([podman], 'linux', true),
    'apt-get install -y podman && sudo selvedge service podman',
  ],
  [
    'a person, without an engine',
    missingHint([podman], 'linux', false),
    'systemctl enable --now podman.socket',
  ],
  ['macOS, without an engine', missingHint([podman], 'darwin', false), 'podman machine start'],
  [
    'the service, that may not enter the folder of Podman',
    missingHint(['/a', `${podman} (permission denied)`], 'linux', true),
    'To allow it: sudo selvedge service podman',
  ],
  [
    'the service, that may not use Podman',
    deniedHint(podman, true),
    'To allow it: sudo selvedge service podman',
  ],
  [
    'a person, who may not use Podman',
    deniedHint(podman, false),
    'systemctl --user enable --now podman.socket',
  ],
  [
    'the service, that may not use Docker',
    deniedHint('/run/docker.sock', true),
    'sudo usermod -aG docker selvedge',
  ],
  ['a person, who may not use Docker', deniedHint('/run/docker.sock', false), 'the group docker'],
  [
    'Podman, that does not answer',
    unansweredHint(podman, { code: 'ECONNREFUSED' }),
    'sudo systemctl restart podman.socket',
  ],
  [
    'Docker, that does not answer',
    unansweredHint('/run/docker.sock', {}),
    'sudo systemctl restart docker.socket',
  ],
  ['another engine, that does not answer', unansweredHint('/run/own.sock', {}), 'Start the engine again.'],
  ['a runtime as root, with the engine of a user', otherUserHint(0), 'systemctl enable --now podman.socket'],
  [
    'a user, with the engine of another one',
    otherUserHint(1000),
    'systemctl --user enable --now podman.socket',
  ],
  ['a socket that may not be opened', unansweredHint(podman, { code: 'EACCES' }), 'podman'],
])('%s', (_, hint, command) => {
  expect(hint).toContain(command)
  expect(hint).not.toContain('doctor')
})

describe('an engine with a user that may not open a folder of the runtime', () => {
  const folder = '/var/lib/selvedge/oci'
  it.each([
    `error while creating mount source path '${folder}/a-1': mkdir /var/lib/selvedge: permission denied`,
    `error while creating mount source path '${folder}/a-1': mkdir ${folder}: permission denied`,
    `statfs ${folder}/a-1/hosts: permission denied`,
    `make cli opts(): Stat ${folder}/a-1: Permission denied`,
  ])('is recognized: %s', (text) => {
    expect(isOfOtherUser(text, ['/run/selvedge-secrets', folder])).toBe(true)
  })

  it.each([
    `mkdir ${folder}/a-1: no space left on device`,
    `mkdir /var/lib/selvedge-other: permission denied`,
    'mkdir /srv: permission denied',
    `exec: "/app": permission denied`,
    '',
  ])('is not any other refusal: %j', (text) => {
    expect(isOfOtherUser(text, ['/run/selvedge-secrets', folder])).toBe(false)
  })
})
