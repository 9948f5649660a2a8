import { changeByName } from './change.ts'

export const restart = changeByName({
  verb: 'restart',
  summary: 'Stop a service, or all members of an app, and start it again.',
  doing: 'restarting',
  ofApp: ['stopApp', 'startApp'],
  ofContainer: ['stopContainer', 'startContainer'],
})
