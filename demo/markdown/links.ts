/** Where links may lead, and what has to be said about them. */

const ALLOWED = /^(?:https?:\/\/[^/\\?#\s]|mailto:[^\s])/i

/** The address of a link that may be followed, as a browser would spell it; null for every other target. */
export function safeHref(target: string): string | null {
  if (!ALLOWED.test(target)) return null
  try {
    const url = new URL(target)
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null
  } catch {
    return null
  }
}

/** Something like a host's name, in any script. */
const HOST_LIKE = /(?:[\p{L}\p{N}\p{M}_-]+[.\u3002\uff0e\uff61])+(?:xn--[a-z0-9-]+|[\p{L}\p{M}]{2,})/gu
const ADDRESS_LIKE = /[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+/g
const SCHEME_LIKE = /(?:https?|ftp|mailto):/i

/**
 * The place that a link with this text really leads to, when its text looks like another one; null when the text promises
 * nothing, or keeps what it promises.
 */
export function realPlace(label: string, href: string): string | null {
  const url = new URL(href)
  const text = label.normalize('NFKC').trim()
  if (url.protocol === 'mailto:') {
    const address = safelyDecoded(url.pathname)
    const promised = [...(text.match(ADDRESS_LIKE) ?? [])].map(each => each.replace(/^mailto:/i, ''))
    const promisesHost = promised.length === 0 && (text.match(HOST_LIKE) ?? []).length > 0
    const kept = promised.every(each => each.toLowerCase() === address.toLowerCase())
    return promisesHost || SCHEME_LIKE.test(text.replace(/^mailto:/i, '')) || !kept ? address : null
  }
  if (url.username !== '' || url.password !== '') return url.host
  if (isSamePlace(text, url)) return null
  const promised = text.match(HOST_LIKE) ?? []
  const kept = promised.every(each => bare(each) === bare(url.hostname))
  return (kept && !SCHEME_LIKE.test(text)) || (promised.length === 0 && !SCHEME_LIKE.test(text)) ? null : url.host
}

/** Whether the text is an address at the same host, written with nothing that could pass for something else. */
function isSamePlace(text: string, url: URL): boolean {
  if (!/^[\x21-\x7e]+$/.test(text) || text.includes('\\')) return false
  const address = /^https?:\/\//i.test(text) ? text : `http://${text}`
  if (!URL.canParse(address)) return false
  const promised = new URL(address)
  return promised.username === '' && promised.password === '' && bare(promised.host) === bare(url.host)
}

const bare = (host: string): string => host.toLowerCase().replace(/^www\./, '')

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
