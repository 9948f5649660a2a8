/* What Node.js 23 removed and the packager still calls (`util.isRegExp`, `util.isDate`): node --require old-node.cjs … */
const util = require('node:util')

util.isRegExp ??= util.types.isRegExp
util.isDate ??= util.types.isDate
