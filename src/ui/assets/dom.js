// Elements from data, and the page changed to match them without losing focus or scroll.
// SPDX-License-Identifier: Apache-2.0

// h('td', {class: 'n'}, 'text', child, [children]); null and false are left out.
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element[name] = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter(c => c !== null && c !== undefined && c !== false));
  return element;
}

// Makes `target`'s children those of `wanted`, reusing what is there.
export function morph(target, wanted) {
  const nodes = [...wanted];
  nodes.forEach((node, i) => {
    const old = target.childNodes[i];
    if (old === node) return;  // drawn before, and still true
    if (!old) target.append(node);
    else if (old.nodeType !== node.nodeType || old.nodeName !== node.nodeName || old.id !== node.id) {
      old.replaceWith(node);
    } else if (node.nodeType === Node.TEXT_NODE) {
      if (old.data !== node.data) old.data = node.data;
    } else {
      sameAttributes(old, node);
      morph(old, node.childNodes);
    }
  });
  while (target.childNodes.length > nodes.length) target.lastChild.remove();
}

function sameAttributes(old, node) {
  for (const {name} of [...old.attributes]) if (!node.hasAttribute(name)) old.removeAttribute(name);
  for (const {name, value} of node.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const event of ['onclick', 'oninput']) old[event] = node[event];
}
