/** Each way in which the engine is missing has a command that ends it. */
import { expect, it } from 'vitest'
import { deniedHint, missingHint, unansweredHint } from './engine-hints.ts'

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
  ['a socket that may not be opened', unansweredHint(podman, { code: 'EACCES' }), 'podman'],
])('%s', (_, hint, command) => {
  expect(hint).toContain(command)
  expect(hint).not.toContain('doctor')
})
