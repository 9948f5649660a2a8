import { expect, it } from 'vitest'
import { linesOf } from './report.ts'

const remark = (path: string, message = 'It differs.', line = 6) => ({
  file: 'compose.yaml',
  line,
  column: 13,
  path,
  message,
})

it('what several services have from one place is one line', () => {
  const remarks = [
    remark('services.web.logging.driver'),
    remark('services.web.logging.options'),
    remark('services.api.logging.driver'),
    remark('services.db.logging.driver'),
    remark('services.db.logging.driver', 'It differs.', 7),
    remark('services.db.logging.driver', 'It differs in another way.'),
    remark(''),
  ]
  expect(linesOf(remarks)).toEqual([
    'compose.yaml:6:13: services.web.logging.driver (and 2 more services): It differs.',
    'compose.yaml:6:13: services.web.logging.options: It differs.',
    'compose.yaml:7:13: services.db.logging.driver: It differs.',
    'compose.yaml:6:13: services.db.logging.driver: It differs in another way.',
    'compose.yaml:6:13: It differs.',
  ])
})
