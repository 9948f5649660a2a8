import { changeByName } from './change.ts'

export const redeploy = changeByName({
  verb: 'redeploy',
  summary:
    'Deploy a service or an app again, with its settings and the present images on the device. It serves until the next version is healthy.',
  doing: 'redeploying',
  ofApp: ['redeployApp'],
  ofContainer: ['redeployContainer'],
})
