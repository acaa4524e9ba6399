import { createRoot } from 'react-dom/client';
import { App } from './app';
import { startServiceWorker } from './service_worker';
import './styles/base.css';
import './styles/page.css';
import './styles/controls.css';
import './styles/grid.css';
import './styles/panels.css';
import './styles/sets.css';

startServiceWorker();
const root = document.getElementById('root');
if (root) createRoot(root).render(<App />);
