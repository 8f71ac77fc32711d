import { render } from 'solid-js/web';
import './styles/base.css';
import './styles/frame.css';
import './styles/tables.css';
import './styles/planes.css';
import { App } from './app.tsx';

render(() => <App />, document.getElementById('app')!);
