import { changeByName } from './change.ts'

export const stop = changeByName({
  verb: 'stop',
  summary: 'Stop a service, or all members of an app. It stays stopped when the device restarts.',
  doing: 'stopping',
  ofApp: ['stopApp'],
  ofContainer: ['stopContainer'],
})
