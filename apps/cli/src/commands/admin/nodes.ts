import { command } from '../../command.ts'

export const adminNodeList = command({
  path: ['admin', 'node', 'list'],
  summary: 'List the nodes that have enrolled.',
  run: async ({ admin }) => admin['node.list'](),
})

export const adminNodeBlock = command({
  path: ['admin', 'node', 'block'],
  summary: 'Block a node: it gets no more tokens.',
  args: [{ name: '<node-id>', description: 'the node' }],
  run: async ({ admin }, { args: [nodeId = ''] }) => admin['node.block']({ nodeId }),
})

export const adminNodeUnblock = command({
  path: ['admin', 'node', 'unblock'],
  summary: 'Unblock a node.',
  args: [{ name: '<node-id>', description: 'the node' }],
  run: async ({ admin }, { args: [nodeId = ''] }) => admin['node.unblock']({ nodeId }),
})

export const adminEnrolmentCreate = command({
  path: ['admin', 'enrolment', 'create'],
  summary: 'Create a one-time enrolment code for a new node.',
  run: async ({ admin }) => admin['enrolment.create'](),
})
