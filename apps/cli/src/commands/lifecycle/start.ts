import { changeByName } from './change.ts'

export const start = changeByName({
  verb: 'start',
  summary:
    'Start a service that was stopped or has failed, or the members of an app that do not run, in the order of their dependencies.',
  doing: 'starting',
  ofApp: ['startApp'],
  ofContainer: ['startContainer'],
})
