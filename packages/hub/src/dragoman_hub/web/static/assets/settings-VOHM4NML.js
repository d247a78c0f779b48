import{A as u,B as R,k as m,l as f,m as g,n as $,o as v,p as y,s as w,t as T,u as k,v as S,w as E,x as A,z as h}from"./chunk-OJDHIICT.js";import"./chunk-ZJ4CVRKE.js";import{a as d}from"./chunk-NQQTPCLZ.js";import{e as H}from"./chunk-Z4F2CRH5.js";import{a as o,c as i,g as l,i as b}from"./chunk-5VEC5YR5.js";import"./chunk-SQE76S5B.js";function Y(s){let t=s.home;return o`<section class="sheet" aria-labelledby="settings-title">
    <header class="board-head"><a class="round quiet back" href="#/" aria-label="Back to the inbox">${b("back")}</a><h2 id="settings-title">Settings</h2><span class="faint">of this browser</span></header>
    <div class="sheet-body">
      ${d.isEmbedded?i:N(t,"Theme","Follow your system, or choose one.",w,k(),E)}
      ${N(t,"Density","The space between things.",T,S(),A)}
      ${d.isEmbedded?i:o`${B(t)}${O(t)}${x(s)}`}
      <section class="setting tall-setting"><div><h3>Keys</h3><p class="faint">Nothing is taken from somebody who writes.</p></div>
        <dl class="keys">${H.map(([n,e])=>o`<dt><kbd>${n}</kbd></dt><dd>${e}</dd>`)}</dl></section>
      ${d.isEmbedded?i:o`<section class="setting"><div><h3>This browser</h3><p class="faint">Your token may ${[...t.scopes].join(", ")||"do everything"}.</p></div>
        <button type="button" class="small danger" @click=${()=>t.signOut()}>Sign out</button></section>`}
    </div></section>`}function N(s,t,n,e,a,c){return o`<section class="setting"><div><h3>${t}</h3><p class="faint">${n}</p></div>
    <div class="segments" role="group" aria-label=${t}>${e.map(r=>o`<button type="button" class="segment" aria-pressed=${String(r===a)}
      @click=${()=>{c(r),s.changed()}}>${r[0].toUpperCase()+r.slice(1)}</button>`)}</div></section>`}function B(s){let t=h()&&Notification.permission==="denied",n=h()?t?"Notifications are blocked. Allow them in your browser's settings.":"Questions and finished turns, while this page is in the background.":"This browser does not support notifications.";return o`<section class="setting"><div><h3>Notifications</h3><p class="faint">${n}</p></div>
    <button type="button" class="small" ?disabled=${!h()||t} aria-pressed=${String(u())}
      @click=${()=>{R().then(()=>s.changed())}}>${u()?"Switch off":"Switch on"}</button></section>`}var p="";function O(s){let t=m()||(s.health==="live"?"":"The hub is not connected."),n=t||p||"Questions, and turns that end while nobody has the session open. Messages contain no file names and no quotes.",e=f(),a=()=>{y(s.rpc,!e).then(()=>p="",c=>p=`That failed: ${l(c.message)}.`).then(()=>s.changed())};return o`<section class="setting"><div><h3>Also when the page is closed</h3><p class="faint" role="status">${n}</p></div>
    <button type="button" class="small" ?disabled=${!!t} aria-pressed=${String(e)} @click=${a}>${e?"Switch off":"Switch on"}</button></section>
    ${e&&s.may("approve")?D(s):i}`}function D(s){let t=$(),n=g(),e=n||"Allow once and Reject, if the rules found no serious risk. Anybody who holds this device can use them, even on a locked screen.",a=()=>{v(s.rpc,!t).catch(c=>s.say(`That failed: ${l(c.message)}.`)).then(()=>s.changed())};return o`<section class="setting"><div><h3>Buttons in notifications</h3><p class="faint">${e}</p></div>
    <button type="button" class="small" ?disabled=${!!n||s.health!=="live"} aria-pressed=${String(t)} @click=${a}>${t?"Switch off":"Switch on"}</button></section>`}var q={live:"connected",connecting:"connecting",offline:"not connected",refused:"refused"};function x(s){let t=e=>o`<li><span class="dot ${e.health==="live"?"idle":"failed"}"></span>
    <span><strong>${l(e.hub.name)}</strong> <span class="faint">${l(e.hub.address)} · ${q[e.health]}</span></span>
    <button type="button" class="small danger" @click=${()=>s.remove(e.key)}>Remove</button></li>`,n=s.all().filter(e=>e.hub);return o`<section class="setting ${n.length?"tall-setting":""}"><div><h3>Other hubs</h3><p class="faint">Their sessions and questions appear beside those of this hub. Their tokens stay in this browser until you sign out.</p></div>
    <div class="other-hubs">${n.length?o`<ul>${n.map(t)}</ul>`:i}
      <button type="button" class="small" @click=${()=>document.dispatchEvent(new CustomEvent("add-hub"))}>Add a hub</button></div></section>`}export{Y as settingsView};
